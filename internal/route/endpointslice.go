package route

import (
	"context"
	"fmt"

	"google.golang.org/grpc/resolver"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
	"rpclab/internal/route/slicewatch"
)

// openEndpointSlice gives every channel the same table of the service's endpoints.
func openEndpointSlice(_ context.Context, s cluster.Service, o settings.Settings, told Told) (caller.Target, error) {
	config, err := o.ServiceConfig(settings.RoundRobin)
	if err != nil {
		return caller.Target{}, fmt.Errorf("route endpointslice: %w", err)
	}
	table := slicewatch.Follow(s)
	return caller.Target{
		URI:           fmt.Sprintf("%s:///%s.%s", endpointslice.Scheme, s.Name, s.Namespace),
		ServiceConfig: config,
		Resolvers:     []resolver.Builder{observe(endpointslice.Builder{Table: table}, told)},
		Close:         table.Close,
	}, nil
}
