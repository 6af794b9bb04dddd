package gateway

import (
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"rpclab/internal/caller"
	"rpclab/internal/route/settings"
)

// Target is where a gateway's calls go by themselves: one or more addresses (host:port),
// comma-separated, which calls take in turn, or any URI that gRPC knows.
func Target(text string) (caller.Target, error) {
	config, err := settings.Settings{}.ServiceConfig(settings.RoundRobin)
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
			return caller.Target{}, fmt.Errorf("target %q: %w; it has to be HOST:PORT, some of them with commas between, or a URI such as dns:///HOST:PORT", text, err)
		}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	static := manual.NewBuilderWithScheme("static")
	static.InitialState(state)
	target.URI, target.Resolvers = "static:///targets", []resolver.Builder{static}
	return target, nil
}
