// Package slicewatch follows the endpoints of one service through the EndpointSlice
// API (discovery.k8s.io/v1): list once, then watch, as client-go's reflector does.
// It is what a node's proxy and a watching client have in common.
package slicewatch

import (
	"context"
	"errors"
	"net/http"
	"time"

	"rpclab/internal/cluster"
)

// proven is how long a watch must last to count as a success even if it showed
// nothing: one that ends sooner is met with a back-off.
const proven = time.Second

// errExpired says that the server no longer holds the changes since our version.
var errExpired = errors.New("the resource version has expired")

// Watch is one service to follow.
type Watch struct {
	API       string // base URL
	Namespace string
	Service   string
	Client    *http.Client

	// Pause waits between attempts and returns early when the context ends; nil:
	// by the clock. Tests replace it.
	Pause func(context.Context, time.Duration)
}

// For is the watch of a service.
func For(s cluster.Service, client *http.Client) Watch {
	return Watch{API: s.API, Namespace: s.Namespace, Service: s.Name, Client: client}
}

// Observer sees what a watch learns. Its functions are called one at a time.
type Observer struct {
	// Set is called with all endpoints after the list and after every event.
	Set func(Set)
	// Failed is called for every attempt that failed; the watch goes on.
	Failed func(error)
}

// Run follows the service until ctx ends. A watch that breaks is resumed from the
// last version seen, so that nothing is lost and nothing asked for twice; a version
// that has expired (410 Gone) means a fresh list. Attempts that fail are spaced by
// [Backoff], which starts anew once a watch showed an event or lasted a second.
func (w Watch) Run(ctx context.Context, o Observer) {
	pause := w.Pause
	if pause == nil {
		pause = sleep
	}
	var known view
	for failures := 0; ctx.Err() == nil; {
		ok, err := w.attempt(ctx, &known, o)
		if ctx.Err() != nil {
			return
		}
		if ok {
			failures = 0
			continue
		}
		failures++
		if errors.Is(err, errExpired) {
			known.version = "" // what is known stays until the list replaces it
			if failures == 1 {
				continue
			}
		}
		if err != nil {
			o.Failed(err)
		}
		pause(ctx, Backoff(failures))
	}
}

// attempt lists if nothing is known and then watches until the watch ends. It is
// ok if the watch was worth having.
func (w Watch) attempt(ctx context.Context, known *view, o Observer) (ok bool, err error) {
	if known.version == "" {
		list, err := w.list(ctx)
		if err != nil {
			return false, err
		}
		known.replace(list)
		o.Set(known.set())
	}
	began, seen := time.Now(), 0
	err = w.watch(ctx, known.version, func(e event) error {
		if err := known.apply(e); err != nil {
			return err
		}
		seen++
		if e.Type != bookmark {
			o.Set(known.set())
		}
		return nil
	})
	ok = (seen > 0 || time.Since(began) >= proven) && !errors.Is(err, errExpired)
	return ok, err
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
