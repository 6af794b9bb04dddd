package caller

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadSleepMargin is how long before a call is due the thread itself sleeps. The runtime's
// timers are up to a millisecond late because they wait in epoll_wait(2), which counts in
// milliseconds; clock_nanosleep(2) is about 50 µs late.
const threadSleepMargin = 2 * time.Millisecond

// threadSleep blocks this thread for a short time. A signal may end it early.
func threadSleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
}
