//go:build !linux

package workload

import "time"

// alarm is a timer of the runtime.
type alarm struct{ timer *time.Timer }

// open opens the alarm if it is not open.
func (a *alarm) open() bool {
	if a.timer == nil {
		a.timer = time.NewTimer(time.Hour)
	}
	return true
}

// set makes wait return at a time; it replaces the time that was set before.
func (a *alarm) set(at time.Time) { a.timer.Reset(time.Until(at)) }

// wait returns at the time that was set.
func (a *alarm) wait() { <-a.timer.C }
