//go:build !linux

package caller

import "time"

// fine is zero: here the runtime's timers are as good as the system's.
const fine = 0

func nap(d time.Duration) { time.Sleep(d) }
