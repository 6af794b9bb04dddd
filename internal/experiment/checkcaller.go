package experiment

import (
	"cmp"
	"slices"

	"rpclab/internal/suggest"
)

// checkCaller checks that the caller speaks the protocol of the server, or HTTP to a gateway.
func (d *document) checkCaller(config Config, place func(...string) position, wrong *problems) {
	const http = "http"
	vocabulary, server, caller := d.grammar.vocabulary, config.Server, config.Caller
	models := vocabulary.Models[server.Language]
	if server.Model != "" && !slices.Contains(models, server.Model) {
		wrong.add(place("server", "model"), "servers in %s have no model %s%s: use %s", server.Language, server.Model, suggest.DidYouMean(server.Model, models), joinOr(models))
		return
	}
	serverProtocol := vocabulary.protocols(server.Language + "/" + cmp.Or(server.Model, first(models)))[0]
	call := ""
	if shares := config.Workload.Shares(); config.Service != "" && len(shares) > 0 {
		call = shares[0].Call
		serverProtocol = d.protocolOf(config.Service, call)
	}
	callerProtocol := vocabulary.protocols(caller.Kind)[0]
	if slices.Contains(vocabulary.protocols(caller.Kind), serverProtocol) {
		callerProtocol = serverProtocol
	}
	if config.Gateway != nil {
		callerProtocol = grpc // the gateway makes gRPC calls
	}
	if callerProtocol == NoProtocol {
		return
	}
	switch {
	case config.Gateway != nil && caller.Kind != http:
		wrong.add(place("gateway"), "a gateway needs an HTTP caller: set caller.kind to %s", http)
	case config.Gateway == nil && caller.Kind == http && serverProtocol != callerProtocol:
		wrong.add(place("caller", "kind"), "the caller %s needs a gateway or a REST server: set gateway or server.model", http)
	case serverProtocol != callerProtocol && config.Service != "":
		wrong.add(place("caller", "kind"), "call %s of the service %s is %s, but the caller %s speaks %s: set caller.kind to %s",
			call, config.Service, protocolName(serverProtocol), caller.Kind, protocolName(callerProtocol), joinOr(vocabulary.callersSpeaking(serverProtocol)))
	case serverProtocol != callerProtocol:
		wrong.add(place("server", "model"), "a server of model %s speaks %s, but its caller speaks %s: set caller.kind to %s",
			cmp.Or(server.Model, first(models)), protocolName(serverProtocol), protocolName(callerProtocol), joinOr(vocabulary.callersSpeaking(serverProtocol)))
	case serverProtocol != grpc && !slices.Contains(vocabulary.routesCarrying(serverProtocol), config.Route):
		wrong.add(place("route"), "route %s does not support %s: use the route %s", config.Route, protocolName(serverProtocol), joinOr(vocabulary.routesCarrying(serverProtocol)))
	case serverProtocol != grpc && config.Workload.Increment:
		wrong.add(place("workload"), "only gRPC servers support increment: use another workload or another server.model")
	case serverProtocol == tcp && !config.Workload.Increase:
		wrong.add(place("workload"), "a TCP server supports only the workload increase: set workload to increase: true")
	case config.Gateway != nil && config.Workload.Fibonacci == nil && !config.Workload.Increment:
		wrong.add(place("gateway"), "a gateway supports only the workloads fibonacci and increment: set one of them")
	case config.Gateway != nil && config.Gateway.Language != "go" && slices.Contains(vocabulary.GoOnlyRoutes, config.Route):
		wrong.add(place("gateway", "language"), "only a gateway in go supports the route %s: remove gateway.language, or use another route", config.Route)
	case (config.Gateway != nil || serverProtocol != grpc) && caller.Hedge != nil:
		wrong.add(place("caller", "hedge"), "the caller %s does not support hedge: remove it", caller.Kind)
	case serverProtocol != grpc && caller.Retry != nil:
		wrong.add(place("caller", "retry"), "the caller %s does not support retry: remove it", caller.Kind)
	case caller.Limits != nil && caller.Limits.Ports > 0 && (config.Route != "clusterip" || caller.Kind != "grpc-go" || config.Gateway != nil):
		wrong.add(place("caller", "limits", "ports"), "only the caller grpc-go supports limits.ports, and only on the route clusterip: remove it")
	case serverProtocol != grpc && caller.Stream != nil:
		wrong.add(place("caller", "stream"), "the caller %s does not support stream: remove it", caller.Kind)
	case (config.Gateway != nil || serverProtocol != grpc) && caller.Channel.Pool > 0:
		wrong.add(place("caller", "channel"), "the caller %s does not support a pool of channels: use shared or per-call", caller.Kind)
	}
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// checkCalls checks that the caller supports the requested kind of calls.
func (d *document) checkCalls(config Config, place func(...string) position, wrong *problems) {
	const able = "use the caller grpc-go"
	caller := config.Caller
	if slices.Contains(d.grammar.vocabulary.BasicCallers, caller.Kind) {
		simple := config.Policy == "" || config.Policy == "round_robin" || config.Policy == "pick_first"
		switch {
		case slices.Contains(d.grammar.vocabulary.FullClientRoutes, config.Route):
			wrong.add(place("route"), "the caller %s does not support the route %s: %s", caller.Kind, config.Route, able)
		case caller.Retry != nil:
			wrong.add(place("caller", "retry"), "the caller %s does not support retry: %s", caller.Kind, able)
		case caller.Hedge != nil:
			wrong.add(place("caller", "hedge"), "the caller %s does not support hedge: %s", caller.Kind, able)
		case config.Outlier != nil:
			wrong.add(place("outlier"), "the caller %s does not support outlier detection: %s", caller.Kind, able)
		case !simple:
			wrong.add(place("policy"), "the caller %s does not support the policy %s: %s", caller.Kind, config.Policy, able)
		}
	}
	if slices.Contains(d.grammar.vocabulary.OtherLanguageCallers, caller.Kind) {
		checkOtherLanguage(config, d.grammar.vocabulary, place, wrong)
	}
	d.checkCalculate(config, place, wrong)
	supports := func(what string) bool { return slices.Contains(d.grammar.vocabulary.Features[caller.Kind], what) }
	if caller.Compress && !supports("compress") {
		wrong.add(place("caller", "compress"), "the caller %s does not support compress: %s", caller.Kind, able)
	}
	if caller.HTTP2 {
		vocabulary := d.grammar.vocabulary
		server := config.Server.Language + "/" + cmp.Or(config.Server.Model, first(vocabulary.Models[config.Server.Language]))
		switch at := place("caller", "http2"); {
		case !supports("http2") || config.Gateway != nil:
			wrong.add(at, "the caller %s does not support http2: use the caller %s without a gateway", caller.Kind, joinOr(vocabulary.callersWith("http2")))
		case config.Service == "" && !slices.Contains(vocabulary.Features[server], "http2"):
			wrong.add(at, "a server of model %s in %s answers only HTTP/1.1: remove caller.http2, or use another server.model", config.Server.Model, config.Server.Language)
		case slices.Contains(vocabulary.RESTRoutes, config.Route) && !slices.Contains(vocabulary.TCPRoutes, config.Route):
			wrong.add(at, "the proxy of route %s speaks HTTP/1.1: remove caller.http2, or use the route %s", config.Route, joinOr(vocabulary.TCPRoutes))
		}
	}
	if caller.Keepalive != nil && (!supports("keepalive") || config.Gateway != nil) {
		wrong.add(place("caller", "keepalive"), "the caller %s does not support keepalive: use the caller %s", caller.Kind, joinOr(d.grammar.vocabulary.callersWith("keepalive")))
	}
	if caller.Channel.Mode == "per-user" {
		switch at := place("caller", "channel"); {
		case !supports("per-user"):
			wrong.add(at, "the caller %s does not support a channel per user: use the caller %s", caller.Kind, joinOr(d.grammar.vocabulary.callersWith("per-user")))
		case config.Load.Closed == nil:
			wrong.add(at, "a channel per user needs users: set load.closed, or set caller.channel to shared or per-call")
		}
	}
	if caller.Stream == nil {
		return
	}
	switch at := place("caller", "stream"); {
	case !supports("stream"):
		wrong.add(at, "the caller %s does not support stream: %s", caller.Kind, able)
	case caller.Stream.Renew > 0 && !supports("renew"):
		wrong.add(at, "the caller %s does not support stream.renew: %s", caller.Kind, able)
	case caller.Stream.Pipelined && !supports("pipeline"):
		wrong.add(at, "the caller %s does not support stream.pipelined: use the caller %s", caller.Kind, joinOr(d.grammar.vocabulary.callersWith("pipeline")))
	case caller.Stream.Pipelined && config.Load.Sequence == 0 && config.Load.Burst == 0:
		wrong.add(at, "stream.pipelined sends all messages at once: set load.burst or load.sequence")
	case config.Service != "" && config.Workload.Call == "":
		wrong.add(at, "stream sends the messages of one call, not of a mix or a flow: set workload to call: NAME, or remove stream")
	case config.Service == "" && config.Workload.Greet == nil && !config.Workload.Increase:
		wrong.add(at, "stream supports only the workloads greet and increase: set one of them")
	case caller.Channel.Mode == "per-call":
		wrong.add(at, "stream cannot be used with a channel per call: set caller.channel to shared or a pool")
	case caller.Channel.Mode == "per-user":
		wrong.add(at, "stream cannot be used with a channel per user: set caller.channel to shared or a pool")
	case caller.Hedge != nil:
		wrong.add(place("caller", "hedge"), "hedge cannot be used with stream: remove one of them")
	}
}

// checkOtherLanguage checks that a caller in another language can make the load.
func checkOtherLanguage(config Config, vocabulary Vocabulary, place func(...string) position, wrong *problems) {
	const able = "remove it, or use a caller in go"
	caller, load := config.Caller, config.Load
	if slices.Contains(vocabulary.GoOnlyRoutes, config.Route) {
		wrong.add(place("route"), "only callers in go support the route %s: use direct, headless, or a route with a proxy", config.Route)
	}
	if caller.Channel.Pool > 0 && slices.Contains(vocabulary.protocols(caller.Kind), grpc) {
		wrong.add(place("caller", "channel"), "the caller %s does not support a pool of channels: use shared or per-call", caller.Kind)
	}
	if caller.WarmupMax > 0 { // it ends with the cancellation of its calls
		wrong.add(place("caller", "warmup_max"), "the caller %s does not support warmup_max: %s", caller.Kind, able)
	}
	if caller.Stream != nil && !caller.Stream.Pipelined && (load.Burst > 0 || load.Open != nil) { // calls due at the same time need streams of their own
		wrong.add(place("caller", "stream"), "the caller %s sends a message after the response to the last one: set load.sequence or load.closed, or use a caller in go", caller.Kind)
	}
	switch {
	case load.Open != nil && load.Open.Arrivals == "poisson":
		wrong.add(place("load", "open", "arrivals"), "the caller %s does not support random arrivals: %s", caller.Kind, able)
	case load.Open != nil && load.Open.MaxInFlight != defaultMaxInFlight:
		wrong.add(place("load", "open", "max_in_flight"), "the caller %s does not limit calls in flight: %s", caller.Kind, able)
	case load.Search != nil: // each rate ends with the cancellation of its calls
		wrong.add(place("load", "search"), "the caller %s does not support load.search: use a caller in go", caller.Kind)
	}
}

// checkCalculate checks the fields that only the workload calculate supports, and those that it
// needs.
func (d *document) checkCalculate(config Config, place func(...string) position, wrong *problems) {
	caller, supporting := config.Caller, d.grammar.vocabulary.callersWith("calculate")
	if config.Workload.Calculate == nil {
		for field, set := range map[string]bool{
			"style": caller.Style != "", "streams": caller.Streams > 1, "ahead": caller.Ahead != "", "jwt": enabled(caller.JWT), "signing": caller.Signing, "metadata": caller.Metadata > 0,
		} {
			if set {
				wrong.add(place("caller", field), "caller.%s needs the workload calculate", field)
			}
		}
		if enabled(config.Server.Security) {
			wrong.add(place("server", "security"), "server.security needs the workload calculate")
		}
		return
	}
	switch {
	case config.Server.Language != "go":
		wrong.add(place("server", "language"), "servers in %s do not support calculate: use go", config.Server.Language)
	case !slices.Contains(supporting, caller.Kind):
		wrong.add(place("caller", "kind"), "the caller %s does not support calculate: use the caller %s", caller.Kind, joinOr(supporting))
	case config.Gateway != nil:
		wrong.add(place("gateway"), "a gateway does not support calculate: remove gateway")
	case caller.Style == "":
		wrong.add(place("workload"), "calculate needs caller.style: bidi or unary-stream")
	case caller.Style != "bidi" && caller.Streams > 1:
		wrong.add(place("caller", "streams"), "caller.streams needs caller.style bidi")
	case caller.Ahead != "" && !slices.Contains(d.grammar.vocabulary.callersWith("ahead"), caller.Kind):
		wrong.add(place("caller", "ahead"), "the caller %s does not support caller.ahead: remove it, or use %s", caller.Kind, joinOr(d.grammar.vocabulary.callersWith("ahead")))
	case caller.Style == "bidi" && caller.Ahead == "taken":
		wrong.add(place("caller", "ahead"), "caller.style bidi does not support caller.ahead taken: set caller.ahead to sent")
	case caller.Channel.Mode == "per-call", caller.Channel.Mode == "per-user":
		wrong.add(place("caller", "channel"), "calculate uses the same streams for all calls: set caller.channel to shared or a pool")
	case caller.Hedge != nil, caller.Retry != nil:
		wrong.add(place("workload"), "calculate does not support caller.retry and caller.hedge: remove them")
	case enabled(config.Server.Security) && slices.Contains(d.grammar.vocabulary.ProxyRoutes, config.Route):
		wrong.add(place("route"), "route %s has a proxy that cannot read encrypted calls: use another route, or set server.security to none", config.Route)
	}
}

// enabled reports whether a word turns something on.
func enabled(word string) bool { return word != "" && word != "none" }
