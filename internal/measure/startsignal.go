package measure

import (
	"runtime"
	"sync"
	"time"
)

// StartSignal says when a load starts and which function receives its snapshots. The zero StartSignal
// starts the load now, without snapshots.
type StartSignal struct {
	// At is the time from which calls are due. A time in the past means now.
	At time.Time
	// Continues says that the load continues the loads before it, as a block of a load does. A warm-up does not.
	Continues bool
	// OnSnapshot receives a snapshot every [SnapshotInterval] while the load runs; nil: no snapshots.
	// It is called from one goroutine at a time, and not after the load has ended.
	OnSnapshot func(Snapshot)
}

// Start returns At with a reading of this process's monotonic clock, which a time from another process
// does not have. It returns the present time if At is in the past.
func (s StartSignal) Start() time.Time {
	now := time.Now()
	return now.Add(max(0, s.At.Sub(now)))
}

// Watch sends snapshots of a load that starts at start, until stop is called. stop returns the CPU time
// that the snapshots took, so that it can be subtracted from that of the calls. addTo must add what the
// load's recorders have recorded to a tally.
func (s StartSignal) Watch(start time.Time, addTo func(*Tally)) (stop func() time.Duration) {
	if s.OnSnapshot == nil {
		return func() time.Duration { return 0 }
	}
	stopped := make(chan struct{})
	var watcher sync.WaitGroup
	var cpu time.Duration
	watcher.Go(func() {
		before, last := newTally(), time.Duration(0)
		for {
			next := time.NewTimer(time.Until(start.Add((last + SnapshotInterval).Truncate(SnapshotInterval))))
			select {
			case <-next.C:
			case <-stopped:
				next.Stop()
				return
			}
			runtime.LockOSThread()
			used := threadCPU()
			now := newTally()
			addTo(now)
			elapsed := time.Since(start)
			if snapshot, err := now.since(before); err == nil { // after an error the next snapshot has these calls
				snapshot.Elapsed, snapshot.Span = elapsed, elapsed-last
				s.OnSnapshot(snapshot)
				before, last = now, elapsed
			}
			cpu += threadCPU() - used
			runtime.UnlockOSThread()
		}
	})
	return sync.OnceValue(func() time.Duration {
		close(stopped)
		watcher.Wait()
		return cpu
	})
}
