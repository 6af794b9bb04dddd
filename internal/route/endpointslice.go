package route

import (
	"context"
	"fmt"

	"google.golang.org/grpc/resolver"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
)

// EndpointSlice is rpclab's own resolver of EndpointSlices.
var EndpointSlice = Route{
	Name:      "endpointslice",
	Doc:       "a resolver watches the EndpointSlice API, all slices together, and calls go to the ready backends in turn",
	PickedBy:  PickedByClient,
	Discovery: DiscoveryWatch,
	Update:    watchPushes,
	Policies:  clientPolicies, OutlierDetection: true,
	GoOnly:     true,
	WatchesAPI: true,
	OpenFiles:  eachBackend(0),
	Open:       openEndpointSlice,
}

// watchPushes is the update of clients that watch the EndpointSlice API.
const watchPushes = "the client watches the endpoints, so a change is pushed to it"

// openEndpointSlice shares one watcher between all channels of the process.
func openEndpointSlice(_ context.Context, s cluster.Service, o settings.Settings, updated UpdateFunc) (caller.Target, error) {
	config, err := o.ServiceConfig(settings.RoundRobin)
	if err != nil {
		return caller.Target{}, fmt.Errorf("route endpointslice: %w", err)
	}
	watcher := endpointslice.NewWatcher(s)
	return caller.Target{
		URI:           fmt.Sprintf("%s:///%s.%s", endpointslice.Scheme, s.Name, s.Namespace),
		ServiceConfig: config,
		Resolvers:     []resolver.Builder{observe(endpointslice.ResolverBuilder{Watcher: watcher}, updated)},
		Close:         watcher.Close,
	}, nil
}
