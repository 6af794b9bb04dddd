package route

import (
	"context"
	"fmt"

	"google.golang.org/grpc/resolver"

	"rpclab/internal/cluster"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/slicewatch"
)

// openEndpointSlice gives every channel the same table of the service's endpoints.
func openEndpointSlice(_ context.Context, s cluster.Service, told Told) (Target, error) {
	table := slicewatch.Follow(s)
	return Target{
		URI:           fmt.Sprintf("%s:///%s.%s", endpointslice.Scheme, s.Name, s.Namespace),
		ServiceConfig: roundRobin,
		Resolvers:     []resolver.Builder{observe(endpointslice.Builder{Table: table}, told)},
		Close:         table.Close,
	}, nil
}
