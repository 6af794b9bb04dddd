package experiment

import (
	"cmp"
	"slices"
	"strings"

	"rpclab/internal/nearest"
)

// checkCaller: who calls and who answers speak the same, and a gateway speaks HTTP.
func (d *document) checkCaller(config Config, place func(...string) place, c *problems) {
	const http = "http"
	words, server, who := d.grammar.vocabulary, config.Server, config.Caller
	models := words.Models[server.Language]
	if server.Model != "" && !slices.Contains(models, server.Model) {
		c.add(place("server", "model"), "servers in %s have no model %s%s: take %s", server.Language, server.Model, nearest.Suggest(server.Model, models), either(models))
		return
	}
	speaks := words.speaks(server.Language + "/" + cmp.Or(server.Model, first(models)))[0]
	asks := words.speaks(who.Kind)[0]
	if slices.Contains(words.speaks(who.Kind), speaks) {
		asks = speaks
	}
	if config.Gateway != nil {
		asks = grpc // which the gateway does
	}
	if asks == nothing {
		return
	}
	switch {
	case config.Gateway != nil && who.Kind != http:
		c.add(place("gateway"), "a gateway is called by HTTP: set caller.kind to %s", http)
	case config.Gateway == nil && who.Kind == http && speaks != asks:
		c.add(place("caller", "kind"), "the caller %s calls a gateway, or a server that speaks REST: set gateway, or server.model", http)
	case speaks != asks:
		c.add(place("server", "model"), "a server of the model %s speaks %s, and its caller %s: set caller.kind to %s",
			cmp.Or(server.Model, first(models)), shouted(speaks), shouted(asks), either(words.speaking(speaks)))
	case speaks != grpc && !slices.Contains(words.Bytes, config.Route):
		c.add(place("route"), "route %s carries gRPC alone: take the route %s", config.Route, either(words.Bytes))
	case speaks != grpc && config.Workload.Increment:
		c.add(place("workload"), "increment is served by gRPC alone: take another workload, or another server.model")
	case speaks == tcp && !config.Workload.Increase:
		c.add(place("workload"), "over a bare connection there is increase alone: set workload to increase: true")
	case config.Gateway != nil && config.Workload.Fibonacci == nil && !config.Workload.Increment:
		c.add(place("gateway"), "a gateway makes the calls of study 1: set workload to fibonacci or increment")
	case config.Gateway != nil && config.Gateway.Language != "go" && slices.Contains(words.Own, config.Route):
		c.add(place("gateway", "language"), "only a gateway in go takes the route %s: leave out gateway.language, or take another route", config.Route)
	case (config.Gateway != nil || speaks != grpc) && who.Hedge != nil:
		c.add(place("caller", "hedge"), "the caller %s does not hedge: leave out hedge", who.Kind)
	case speaks != grpc && who.Retry != nil:
		c.add(place("caller", "retry"), "the caller %s does not retry: leave out retry", who.Kind)
	case speaks != grpc && who.Stream != nil:
		c.add(place("caller", "stream"), "the caller %s does not stream: leave out stream", who.Kind)
	case (config.Gateway != nil || speaks != grpc) && who.Channel.Pool > 0:
		c.add(place("caller", "channel"), "the caller %s has no pool of channels: take shared, or per-call", who.Kind)
	}
}

// What callers and servers speak.
const (
	grpc    = "grpc"
	tcp     = "tcp"
	nothing = "nothing"
)

// shouted is a protocol as people write it.
func shouted(protocol string) string {
	if protocol == grpc {
		return "gRPC"
	}
	return strings.ToUpper(protocol)
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// speaks is what a server or a caller speaks.
func (v Vocabulary) speaks(name string) []string {
	if v.Speaks[name] == nil {
		return []string{grpc}
	}
	return v.Speaks[name]
}

// speaking are the callers that speak a protocol.
func (v Vocabulary) speaking(protocol string) (callers []string) {
	for _, name := range v.Callers {
		if slices.Contains(v.speaks(name), protocol) {
			callers = append(callers, name)
		}
	}
	return callers
}

// checkCalls: a caller can make the calls that it is asked for.
func (d *document) checkCalls(config Config, place func(...string) place, c *problems) {
	const able = "take the caller grpc-go"
	who := config.Caller
	if slices.Contains(d.grammar.vocabulary.Plain, who.Kind) {
		simple := config.Policy == "" || config.Policy == "round_robin" || config.Policy == "pick_first"
		switch {
		case slices.Contains(d.grammar.vocabulary.Whole, config.Route):
			c.add(place("route"), "the caller %s cannot take the route %s: %s", who.Kind, config.Route, able)
		case who.Retry != nil:
			c.add(place("caller", "retry"), "the caller %s does not retry: %s", who.Kind, able)
		case who.Hedge != nil:
			c.add(place("caller", "hedge"), "the caller %s does not hedge: %s", who.Kind, able)
		case config.Outlier != nil:
			c.add(place("outlier"), "the caller %s leaves no backend out: %s", who.Kind, able)
		case !simple:
			c.add(place("policy"), "the caller %s does not know the policy %s: %s", who.Kind, config.Policy, able)
		}
	}
	d.checkCalculate(config, place, c)
	can := func(what string) bool { return slices.Contains(d.grammar.vocabulary.Can[who.Kind], what) }
	if who.Compress && !can("compress") {
		c.add(place("caller", "compress"), "the caller %s does not compress: %s", who.Kind, able)
	}
	if who.Channel.Mode == "per-user" {
		switch at := place("caller", "channel"); {
		case !can("per-user"):
			c.add(at, "the caller %s keeps no channel for each user: take the caller %s", who.Kind, either(d.grammar.vocabulary.able("per-user")))
		case config.Load.Closed == nil:
			c.add(at, "a channel per user needs users, whom a closed load has: set load.closed, or caller.channel to shared or per-call")
		}
	}
	if who.Stream == nil {
		return
	}
	switch at := place("caller", "stream"); {
	case !can("stream"):
		c.add(at, "the caller %s does not stream: %s", who.Kind, able)
	case who.Stream.Renew > 0 && !can("renew"):
		c.add(at, "the caller %s does not renew its streams: %s", who.Kind, able)
	case who.Stream.Pipelined && !can("pipeline"):
		c.add(at, "the caller %s sends a message when the one before it is answered: take the caller %s", who.Kind, either(d.grammar.vocabulary.able("pipeline")))
	case who.Stream.Pipelined && config.Load.Sequence == 0 && config.Load.Burst == 0:
		c.add(at, "pipelined messages are sent at once: set load.burst, or load.sequence")
	case config.Workload.Greet == nil && !config.Workload.Increase:
		c.add(at, "streams carry greetings or a chain: set workload to greet or increase")
	case who.Channel.Mode == "per-call":
		c.add(at, "streams stay open, and a channel per call does not: set caller.channel to shared, or to a pool")
	case who.Channel.Mode == "per-user":
		c.add(at, "streams go over channels that users share: set caller.channel to shared, or to a pool")
	case who.Hedge != nil:
		c.add(place("caller", "hedge"), "messages of streams are not hedged: leave out hedge or stream")
	}
}

// able are the callers that can do something.
func (v Vocabulary) able(what string) (callers []string) {
	for _, name := range v.Callers {
		if slices.Contains(v.Can[name], what) {
			callers = append(callers, name)
		}
	}
	return callers
}
