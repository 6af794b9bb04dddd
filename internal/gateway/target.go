package gateway

import (
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/resolver"

	"rpclab/internal/caller"
	"rpclab/internal/route/settings"
)

// Target is where a gateway's calls go by themselves: one or more addresses (host:port),
// comma-separated, or any URI that gRPC knows. The policy of [settings] is by which calls
// take them.
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
			return caller.Target{}, fmt.Errorf("%w; it has to be HOST:PORT, some of them with commas between, or a URI such as dns:///HOST:PORT", err)
		}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	target.URI, target.Resolvers = "static:///targets", []resolver.Builder{static{state}}
	return target, nil
}

// static knows addresses that stay as they are. Many channels may share it.
type static struct{ state resolver.State }

func (static) Scheme() string { return "static" }

func (s static) Build(_ resolver.Target, channel resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	return s, channel.UpdateState(s.state)
}

func (static) ResolveNow(resolver.ResolveNowOptions) {}
func (static) Close()                                {}
