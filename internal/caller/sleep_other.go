//go:build !linux

package caller

import "time"

// threadSleepMargin is zero: on other systems the runtime's timers are as exact.
const threadSleepMargin = 0

func threadSleep(d time.Duration) { time.Sleep(d) }
