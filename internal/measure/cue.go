package measure

import "time"

// Cue is when a load begins, and who watches it. The zero Cue is now, and nobody.
type Cue struct {
	// At is the moment from which calls are due. One that is past is now.
	At time.Time
	// Seen hears of a load that goes on what its calls did, once in [Glimpse], from one
	// goroutine at a time and not after the load's end; nil: nobody does.
	Seen func(Snapshot)
}

// Start is the moment by this process's monotonic clock, which At, that may come from
// elsewhere, does not have.
func (c Cue) Start() time.Time {
	now := time.Now()
	return now.Add(max(0, c.At.Sub(now)))
}
