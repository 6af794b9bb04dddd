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

// historySize is how many changes a watch may lie behind: the order of the API
// server's watch cache.
const historySize = 1024

// errExpired says that the changes since a version are no longer held.
var errExpired = errors.New("too old resource version")

// history is the present slices and the last changes that led to them.
type history struct {
	mu      sync.Mutex
	size    int
	book    book
	past    []change // the last ones, oldest first, at most size
	gone    uint64   // version of the newest change that is no longer in past
	changed chan struct{}
}

func newHistory(names Names, size int) *history {
	return &history{size: size, book: book{names: names, limit: sliceLimit}, changed: make(chan struct{})}
}

// put makes a snapshot the present.
func (h *history) put(s cluster.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next, changes := h.book.apply(s)
	if len(changes) == 0 {
		return
	}
	h.book, h.past = next, append(h.past, changes...)
	if over := len(h.past) - h.size; over > 0 {
		h.gone = h.past[over-1].version
		h.past = slices.Clone(h.past[over:])
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// now are the present slices and their version.
func (h *history) now() ([]discovery.EndpointSlice, uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.book.slices, h.book.version
}

// since are the changes after a version, oldest first, and a channel that closes
// at the next one. It is [errExpired] when some of them are no longer held.
func (h *history) since(version uint64) ([]change, <-chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if version < h.gone {
		return nil, nil, fmt.Errorf("%w: %d (%d)", errExpired, version, h.gone)
	}
	i, _ := slices.BinarySearchFunc(h.past, version+1, func(c change, v uint64) int { return cmp.Compare(c.version, v) })
	return slices.Clone(h.past[i:]), h.changed, nil
}
