package cluster

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Endpoint is one backend as the cluster publishes it. The three conditions are
// those of discovery.k8s.io/v1: Ready is Serving and not Terminating.
type Endpoint struct {
	ID          string // the backend's identity, as every answer carries it
	Addr        netip.AddrPort
	Serving     bool
	Terminating bool
	Zone        string // zone-0, zone-1, …; empty: there is one
}

// Ready says whether the backend should receive new connections.
func (e Endpoint) Ready() bool { return e.Serving && !e.Terminating }

// Snapshot is the set of endpoints at one moment. It is shared: do not change it.
type Snapshot struct {
	Version   uint64 // grows by one with every change
	At        time.Time
	Endpoints []Endpoint // sorted by ID
}

// Ready are the endpoints that are ready, sorted by ID.
func (s Snapshot) Ready() []Endpoint {
	var ready []Endpoint
	for _, e := range s.Endpoints {
		if e.Ready() {
			ready = append(ready, e)
		}
	}
	return ready
}

// Endpoints holds the current set of endpoints and notifies watchers. DNS and the
// EndpointSlice API are served from it.
type Endpoints struct {
	mu      sync.Mutex
	byID    map[string]Endpoint
	now     Snapshot
	changed chan struct{} // closed and replaced at every change
}

// NewEndpoints returns an empty set at version 0.
func NewEndpoints() *Endpoints {
	return &Endpoints{byID: map[string]Endpoint{}, changed: make(chan struct{})}
}

// Set adds or replaces an endpoint. Setting an equal endpoint changes nothing.
func (s *Endpoints) Set(e Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.byID[e.ID]; ok && old == e {
		return
	}
	s.byID[e.ID] = e
	s.update()
}

// Remove removes an endpoint, if it exists.
func (s *Endpoints) Remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.byID[id]; ok {
		delete(s.byID, id)
		s.update()
	}
}

func (s *Endpoints) update() {
	all := slices.SortedFunc(maps.Values(s.byID), func(a, b Endpoint) int { return strings.Compare(a.ID, b.ID) })
	s.now = Snapshot{Version: s.now.Version + 1, At: time.Now(), Endpoints: all}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Current returns the current set and a channel that closes at the next change.
func (s *Endpoints) Current() (Snapshot, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.changed
}

// Watch passes the current set and every change of it to update, until ctx ends. A slow update
// receives the newest set and may miss sets in between.
func (s *Endpoints) Watch(ctx context.Context, update func(Snapshot)) {
	for {
		now, changed := s.Current()
		update(now)
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
