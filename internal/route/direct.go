package route

import (
	"context"
	"fmt"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
)

// Direct connects to one backend.
var Direct = Route{
	Name:       "direct",
	Doc:        "every connection goes to one backend, the first that was ready; nothing is balanced",
	PickedBy:   PickedByNobody,
	Update:     "the client knows one address and is not updated",
	CarriesTCP: true,
	WatchesAPI: true,
	Open:       openDirect,
}

// openDirect asks the API once for the ready endpoints and dials the first.
func openDirect(ctx context.Context, s cluster.Service, o settings.Settings, _ UpdateFunc) (caller.Target, error) {
	watcher := endpointslice.NewWatcher(s)
	defer watcher.Close()
	state, err := watcher.Sync(ctx)
	if err != nil {
		return caller.Target{}, fmt.Errorf("route direct: endpoints of %s: %w", s.Name, err)
	}
	for _, e := range state.Usable {
		return openAddress(o, e.Addr.String())
	}
	return caller.Target{}, fmt.Errorf("route direct: no endpoint of %s is ready: open the route when one is", s.Name)
}
