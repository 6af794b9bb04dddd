package route

import (
	"context"
	"fmt"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
	"rpclab/internal/route/slicewatch"
)

// openDirect asks once who is ready and keeps to the first.
func openDirect(ctx context.Context, s cluster.Service, o settings.Settings, _ Told) (caller.Target, error) {
	table := slicewatch.Follow(s)
	defer table.Close()
	state, err := table.Sync(ctx)
	if err != nil {
		return caller.Target{}, fmt.Errorf("route direct: endpoints of %s: %w", s.Name, err)
	}
	for _, e := range state.Usable {
		return openAddress(o, e.Addr.String())
	}
	return caller.Target{}, fmt.Errorf("route direct: no endpoint of %s is ready: wait until one is, then open the route", s.Name)
}
