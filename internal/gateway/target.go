package gateway

import (
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/resolver"

	"rpclab/internal/caller"
	"rpclab/internal/route/settings"
)

// Target returns a target for addresses instead of a route: one or several of the form host:port with commas,
// or a URI that gRPC understands. policy is a load-balancing policy of package [settings].
func Target(text, policy string) (caller.Target, error) {
	config, err := settings.Settings{}.ServiceConfig(policy)
	if err != nil {
		return caller.Target{}, err
	}
	target := caller.Target{URI: text, ServiceConfig: config, Close: func() {}}
	if strings.Contains(text, "://") {
		return target, nil
	}
	var state resolver.State
	for _, addr := range strings.Split(text, ",") {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return caller.Target{}, fmt.Errorf("%w: use HOST:PORT, several of them separated by commas, or a URI such as dns:///HOST:PORT", err)
		}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	target.URI, target.Resolvers = "static:///targets", []resolver.Builder{staticResolver{state}}
	return target, nil
}

// staticResolver resolves to fixed addresses. Many channels may share it.
type staticResolver struct{ state resolver.State }

func (staticResolver) Scheme() string { return "static" }

func (s staticResolver) Build(_ resolver.Target, channel resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	return s, channel.UpdateState(s.state)
}

func (staticResolver) ResolveNow(resolver.ResolveNowOptions) {}
func (staticResolver) Close()                                {}
