package workload

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a timerfd, for which the runtime waits together with sockets.
type alarm struct {
	fd   int
	file *os.File // nil: not open
}

// open opens the alarm if it is not open. It returns false if it cannot.
func (a *alarm) open() bool {
	if a.file != nil {
		return true
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return false
	}
	a.fd, a.file = fd, os.NewFile(uintptr(fd), "timerfd")
	return true
}

// set makes wait return at a time; it replaces the time that was set before.
func (a *alarm) set(at time.Time) {
	next := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, time.Until(at).Nanoseconds()))} // 0 would stop the timer
	_ = unix.TimerfdSettime(a.fd, 0, &next, nil)                                              // its arguments are valid
}

// wait returns at the time that was set.
func (a *alarm) wait() {
	var expirations [8]byte
	_, _ = a.file.Read(expirations[:])
}
