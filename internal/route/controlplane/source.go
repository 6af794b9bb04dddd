package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/route/endpointslice"
)

// syncTimeout is how long the EndpointSlice API may take to answer for the first time.
const syncTimeout = 10 * time.Second

// Source passes every set of usable endpoints to update, until ctx ends, update fails or the
// source fails. It passes to failed each error after which it keeps the last set.
type Source func(ctx context.Context, update func(endpointslice.Set) error, failed func(error)) error

// FromEndpointSlices follows a service through the EndpointSlice API. While the API does not
// answer, the last set stays.
func FromEndpointSlices(s cluster.Service) Source {
	return func(ctx context.Context, update func(endpointslice.Set) error, failed func(error)) error {
		watcher := endpointslice.NewWatcher(s)
		defer watcher.Close()
		limit, cancel := context.WithTimeout(ctx, syncTimeout)
		defer cancel()
		if _, err := watcher.Sync(limit); err != nil {
			return fmt.Errorf("endpoints of %s/%s from %s: %w", s.Namespace, s.Name, s.API, err)
		}
		for {
			state, changed := watcher.Current()
			if err := update(state.Usable); err != nil {
				return err
			}
			for waiting := true; waiting; {
				select {
				case <-changed:
					waiting = false
				case err := <-watcher.Failures():
					failed(err)
				case <-ctx.Done():
					return nil
				}
			}
		}
	}
}

// Static is a source whose set does not change.
func Static(set endpointslice.Set) Source {
	return func(ctx context.Context, update func(endpointslice.Set) error, _ func(error)) error {
		if len(set) == 0 {
			return errors.New("the list of endpoints is empty: name at least one, such as 127.0.0.1:50051")
		}
		if err := update(set); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
}
