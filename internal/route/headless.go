package route

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/resolver"

	_ "google.golang.org/grpc" // registers the dns resolver

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
)

// openHeadless is grpc-go's own dns resolver, unchanged: it asks again only when a
// connection breaks, and at most every 30 seconds.
func openHeadless(_ context.Context, s cluster.Service, o settings.Settings, told Told) (caller.Target, error) {
	if s.Port == 0 {
		return caller.Target{}, errors.New("route headless: DNS gives addresses, but on this system, which has one loopback " +
			"address, backends differ by port: use the route endpointslice, or give the system more loopback addresses")
	}
	builder := resolver.Get("dns")
	if builder == nil {
		return caller.Target{}, errors.New("route headless: grpc-go has no dns resolver registered")
	}
	host := whole(s.Host)
	if s.DNS != "" {
		// The final dot spares the search path of resolv.conf, which would first ask
		// the server for names outside its zone. The system's own server knows the path.
		host += "."
	}
	config, err := o.ServiceConfig(settings.RoundRobin)
	uri := fmt.Sprintf("dns://%s/%s:%d", s.DNS, host, s.Port)
	return caller.Target{
		URI:           uri,
		Foreign:       uri,
		ServiceConfig: config,
		Resolvers:     []resolver.Builder{observe(builder, told)},
		Close:         func() {},
	}, err
}
