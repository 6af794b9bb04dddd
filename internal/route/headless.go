package route

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/resolver"

	_ "google.golang.org/grpc" // registers the dns resolver

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
)

// Headless resolves the DNS name of a headless Service.
var Headless = Route{
	Name:      "headless",
	Doc:       "grpc-go's dns resolver finds every ready backend and calls go to them in turn; it asks again only when a connection breaks, at most every 30 s",
	PickedBy:  PickedByClient,
	Discovery: DiscoveryDNS,
	Update: "grpc-go asks DNS again only when a connection breaks, and at the earliest 30 s after it last did; " +
		"backends that were added stay unknown until then",
	Policies: clientPolicies, OutlierDetection: true,
	OpenFiles: eachBackend(0),
	Open:      openHeadless,
}

// openHeadless uses grpc-go's dns resolver unchanged.
func openHeadless(ctx context.Context, s cluster.Service, o settings.Settings, updated UpdateFunc) (caller.Target, error) {
	if s.Port == 0 {
		return caller.Target{}, errors.New("route headless: DNS returns addresses without ports, but these backends differ by port: use the route " +
			"endpointslice, or let all backends listen at one port (on a system with one loopback address: add loopback addresses)")
	}
	builder := resolver.Get("dns")
	if builder == nil {
		return caller.Target{}, errors.New("route headless: grpc-go has no dns resolver registered")
	}
	host := completeName(s.Host)
	awaitAddresses(ctx, s.Ready, func(ctx context.Context) (int, error) {
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		return len(found), err
	})
	if s.DNS != "" {
		// The final dot makes the name absolute. Otherwise the resolver would first append each
		// domain of the search path of resolv.conf.
		host += "."
	}
	config, err := o.ServiceConfig(settings.RoundRobin)
	uri := fmt.Sprintf("dns://%s/%s:%d", s.DNS, host, s.Port)
	return caller.Target{
		URI:           uri,
		PortableURI:   uri,
		ServiceConfig: config,
		Resolvers:     []resolver.Builder{observe(builder, updated)},
		Close:         func() {},
	}, err
}

// addressesTimeout is how long a name server may take to learn of backends that are ready.
const addressesTimeout = 5 * time.Second

// awaitAddresses returns when a name has the wanted number of addresses, or after addressesTimeout. A cluster's name server
// learns of a ready backend a moment after rpclab, and a client that asked before would not ask again for 30 s.
func awaitAddresses(ctx context.Context, wanted int, lookup func(context.Context) (int, error)) {
	ctx, cancel := context.WithTimeout(ctx, addressesTimeout)
	defer cancel()
	for wanted > 0 {
		if found, err := lookup(ctx); err == nil && found >= wanted {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
