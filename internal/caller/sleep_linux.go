package caller

import (
	"time"

	"golang.org/x/sys/unix"
)

// fine is how long before a call is due the thread itself goes to sleep. The
// runtime's timers are up to a millisecond late, since they wake by epoll_wait(2),
// which counts in milliseconds; clock_nanosleep(2) is late by some 50 µs.
const fine = 2 * time.Millisecond

// nap sleeps for a short time on this thread. A signal may end it early.
func nap(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
}
