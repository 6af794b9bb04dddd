package analysis

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"rpclab/internal/cluster"
)

// addition is the backends that became ready because of an event.
type addition struct {
	ids   []string
	ready time.Time // when the last of them became ready for the first time
	until time.Time // when an event began after that, or the end of the load
	// earlier says that backends of an earlier event became ready after this event.
	earlier bool
}

// mixed says why effects of an event, which the next follows at until, are those of another event too; empty: they are not.
func (a addition) mixed(until time.Time) string {
	switch {
	case a.until.After(until):
		return "the next event came before all backends were ready"
	case a.earlier:
		return "backends of an earlier event became ready after it"
	}
	return ""
}

// additions returns the backends that each event added. Servers may start more slowly than the next event comes: a backend
// that was never ready before belongs to the earliest event that still waits for one. Any other belongs to the last event before it.
func additions(events []PerformedEvent, end time.Time, history []cluster.Snapshot) []addition {
	all, waits := make([]addition, len(events)), make([]int, len(events))
	firstReady := map[string]time.Time{}
	for _, snapshot := range history {
		for _, e := range snapshot.Ready() {
			if _, known := firstReady[e.ID]; !known {
				firstReady[e.ID] = snapshot.At
			}
		}
	}
	wanted := 0
	for i, a := range events {
		until := untilNext(events, i, end)
		before, after, _ := endpointChange(a.Time, until, history)
		if i == 0 {
			wanted = len(before)
		}
		switch {
		case a.Err != nil:
		case a.Scale > 0:
			waits[i], wanted = max(0, a.Scale-wanted), a.Scale
			limitWaits(waits, a.Scale-len(before))
		case leaves(a.Event): // each has a replacement
			waits[i] = len(a.Backends)
		}
		all[i].until = until
		added := slices.DeleteFunc(slices.Collect(maps.Keys(after)), func(id string) bool { return before[id] != "" })
		slices.SortFunc(added, func(a, b string) int { return cmp.Or(firstReady[a].Compare(firstReady[b]), cmp.Compare(a, b)) })
		for _, id := range added {
			of := i
			if isNew := firstReady[id].After(a.Time); isNew {
				if first := slices.IndexFunc(waits, func(n int) bool { return n > 0 }); first >= 0 {
					of = first
					waits[of]--
					all[i].earlier = all[i].earlier || of < i
				}
			}
			all[of].ids, all[of].until, all[of].ready = append(all[of].ids, id), until, firstReady[id]
		}
	}
	return all
}

// limitWaits makes events wait for at most remain backends together. The earliest events keep theirs.
func limitWaits(waits []int, remain int) {
	for i := range waits {
		waits[i] = min(waits[i], max(remain, 0))
		remain -= waits[i]
	}
}
