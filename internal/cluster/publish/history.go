package publish

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	discovery "k8s.io/api/discovery/v1"

	"rpclab/internal/cluster"
)

// historySize is how many changes a watch may lag behind, of the order of the API server's
// watch cache.
const historySize = 1024

// errExpired says that the history no longer has the changes since a version.
var errExpired = errors.New("too old resource version")

// history is the present slices and the last changes.
type history struct {
	mu      sync.Mutex
	size    int
	present sliceSet
	past    []change // the last changes, oldest first, at most size
	dropped uint64   // version of the newest change that is no longer in past
	changed chan struct{}
}

func newHistory(names Names, size int) *history {
	return &history{size: size, present: sliceSet{names: names, limit: sliceLimit}, changed: make(chan struct{})}
}

// put updates the slices to a snapshot.
func (h *history) put(s cluster.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next, changes := h.present.apply(s)
	if len(changes) == 0 {
		return
	}
	h.present, h.past = next, append(h.past, changes...)
	if over := len(h.past) - h.size; over > 0 {
		h.dropped = h.past[over-1].version
		h.past = slices.Clone(h.past[over:])
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// now returns the present slices and their version.
func (h *history) now() ([]discovery.EndpointSlice, uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.present.slices, h.present.version
}

// since returns the changes after a version, oldest first, and a channel that closes at the
// next change. It fails with [errExpired] when it no longer has all of them.
func (h *history) since(version uint64) ([]change, <-chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if version < h.dropped {
		return nil, nil, fmt.Errorf("%w: %d (%d)", errExpired, version, h.dropped)
	}
	i, _ := slices.BinarySearchFunc(h.past, version+1, func(c change, v uint64) int { return cmp.Compare(c.version, v) })
	return slices.Clone(h.past[i:]), h.changed, nil
}
