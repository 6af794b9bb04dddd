package slicewatch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"rpclab/internal/cluster"
)

// State is what a table knows.
type State struct {
	Usable Set
	// Synced is true once the API has answered; what is known then stays known
	// while the API is away.
	Synced bool
	Err    error // why it is not synced yet
}

// Table holds the usable endpoints of one service, kept current by one watch,
// however many read it.
type Table struct {
	client *http.Client // nil: there is no way to ask
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed and replaced at every change
}

// Follow starts a table for a service.
func Follow(s cluster.Service) *Table {
	ctx, cancel := context.WithCancel(context.Background())
	t := &Table{cancel: cancel, done: make(chan struct{}), changed: make(chan struct{})}
	var err error
	if t.client, err = Client(s.API); err != nil {
		t.failed(err)
		close(t.done)
		return t
	}
	go func() {
		defer close(t.done)
		For(s, t.client).Run(ctx, Observer{Set: t.set, Failed: t.failed})
	}()
	return t
}

// Now returns the present state and a channel that closes at the next change.
func (t *Table) Now() (State, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state, t.changed
}

// Sync returns once the API has answered, with an error if ctx ends before, or there is no
// way to ask it.
func (t *Table) Sync(ctx context.Context) (State, error) {
	for {
		state, changed := t.Now()
		if state.Synced {
			return state, nil
		}
		if t.client == nil {
			return state, state.Err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if state.Err != nil {
				return state, fmt.Errorf("%w (%w)", state.Err, ctx.Err())
			}
			return state, ctx.Err()
		}
	}
}

// Close ends the watch and returns when it is gone.
func (t *Table) Close() {
	t.cancel()
	<-t.done
	if t.client != nil {
		t.client.CloseIdleConnections()
	}
}

func (t *Table) set(all Set) {
	t.mu.Lock()
	defer t.mu.Unlock()
	usable := all.Usable()
	if !t.state.Synced || !slices.Equal(usable, t.state.Usable) {
		t.publish(State{Usable: usable, Synced: true})
	}
}

func (t *Table) failed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.state.Synced {
		t.publish(State{Err: err})
	}
}

func (t *Table) publish(s State) {
	t.state = s
	close(t.changed)
	t.changed = make(chan struct{})
}
