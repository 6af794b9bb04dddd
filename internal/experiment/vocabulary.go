package experiment

import (
	"slices"
	"strings"
)

// Vocabulary lists the names that other packages register, and what they support, so that this
// package need not import them.
type Vocabulary struct {
	Routes, Callers, Languages []string
	// Models are the server models of each language; the first is its default.
	Models map[string][]string
	// Protocols of server models (language/model) and callers: grpc, rest, tcp or [NoProtocol]. The
	// first is the default.
	Protocols map[string][]string
	// Features that only some callers support: stream, renew, pipeline, compress, per-user,
	// calculate, ahead, service, flow, headers (of responses), mixed-streams (calls of streaming methods among others),
	// service_config, keepalive, http2. REST servers (language/model) support http2 or not.
	Features map[string][]string
	// Policies of each route; the first is its default. Empty: the route has no choice.
	Policies map[string][]string
	// BasicCallers support only round_robin and pick_first, and no retries, hedging or streams.
	BasicCallers []string
	// OtherLanguageCallers make their loads in programs of other languages, which cannot cancel calls.
	OtherLanguageCallers []string
	// FullClientRoutes do not support BasicCallers.
	FullClientRoutes []string
	// OwnRetryRoutes have a control plane that sends clients its own retries, not caller.retry.
	OwnRetryRoutes []string
	// ProxyRoutes have proxies that read calls.
	ProxyRoutes []string
	// MeshRoutes are those of the ProxyRoutes whose proxies a service mesh injects.
	MeshRoutes []string
	// TCPRoutes carry any protocol over TCP.
	TCPRoutes []string
	// RESTRoutes carry HTTP/1.1: TCPRoutes, and those with a proxy that speaks HTTP/1.1. Other routes carry only gRPC.
	RESTRoutes []string
	// GoOnlyRoutes support only clients in Go.
	GoOnlyRoutes []string
	// OutlierRoutes support outlier detection.
	OutlierRoutes []string
	// CheckServiceConfig returns the error of a gRPC service config; nil: only the names of its fields are checked.
	CheckServiceConfig func(text string) error
}

// PolicyNames are the policies that at least one route supports.
func (v Vocabulary) PolicyNames() []string {
	var all []string
	for _, name := range v.Routes {
		for _, policy := range v.Policies[name] {
			if !slices.Contains(all, policy) {
				all = append(all, policy)
			}
		}
	}
	return all
}

// routesWithPolicy are the routes that support the policy.
func (v Vocabulary) routesWithPolicy(policy string) (routes []string) {
	for _, name := range v.Routes {
		if slices.Contains(v.Policies[name], policy) {
			routes = append(routes, name)
		}
	}
	return routes
}

// routesCarrying are the routes that carry a protocol other than gRPC.
func (v Vocabulary) routesCarrying(protocol string) []string {
	if protocol == rest {
		return v.RESTRoutes
	}
	return v.TCPRoutes
}

// protocols are the protocols of a server or a caller.
func (v Vocabulary) protocols(name string) []string {
	if v.Protocols[name] == nil {
		return []string{grpc}
	}
	return v.Protocols[name]
}

// callersSpeaking are the callers that speak a protocol.
func (v Vocabulary) callersSpeaking(protocol string) (callers []string) {
	for _, name := range v.Callers {
		if slices.Contains(v.protocols(name), protocol) {
			callers = append(callers, name)
		}
	}
	return callers
}

// callersWith are the callers that support the feature.
func (v Vocabulary) callersWith(what string) (callers []string) {
	for _, name := range v.Callers {
		if slices.Contains(v.Features[name], what) {
			callers = append(callers, name)
		}
	}
	return callers
}

// Protocols of callers and servers.
const (
	grpc = "grpc"
	rest = "rest"
	tcp  = "tcp"
	// NoProtocol is that of a caller that calls a function of its own process and no backend.
	NoProtocol = "nothing"
)

// protocolName is the usual spelling of a protocol.
func protocolName(protocol string) string {
	if protocol == grpc {
		return "gRPC"
	}
	return strings.ToUpper(protocol)
}
