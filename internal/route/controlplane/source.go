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

// Source calls see with every set of usable endpoints until ctx ends, see fails or it
// does. It calls failed with what is wrong while the last set stays.
type Source func(ctx context.Context, see func(endpointslice.Set) error, failed func(error)) error

// FromEndpointSlices follows a service through the EndpointSlice API. While the API is away the
// last set stays.
func FromEndpointSlices(s cluster.Service) Source {
	return func(ctx context.Context, see func(endpointslice.Set) error, _ func(error)) error {
		table := endpointslice.NewWatcher(s)
		defer table.Close()
		limit, cancel := context.WithTimeout(ctx, syncTimeout)
		defer cancel()
		if _, err := table.Sync(limit); err != nil {
			return fmt.Errorf("endpoints of %s/%s from %s: %w", s.Namespace, s.Name, s.API, err)
		}
		for {
			state, changed := table.Current()
			if err := see(state.Usable); err != nil {
				return err
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// Static is a list that does not change.
func Static(set endpointslice.Set) Source {
	return func(ctx context.Context, see func(endpointslice.Set) error, _ func(error)) error {
		if len(set) == 0 {
			return errors.New("no endpoint is given")
		}
		if err := see(set); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
}
