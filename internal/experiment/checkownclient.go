package experiment

import "slices"

// checkOwnClient checks an arm whose calls a program of the user's makes. n is the merged config of the arm.
func (d *document) checkOwnClient(config Config, n *node, wrong *problems) {
	vocabulary, caller := d.grammar.vocabulary, n.get("caller")
	if len(config.Caller.Command) == 0 {
		wrong.add(caller.get("command").at, "caller.command is empty: set the program and its arguments")
	}
	for _, field := range []string{"retry", "hedge", "compress", "http2", "stream", "service_config", "keepalive", "style", "streams", "ahead", "jwt", "signing", "metadata"} {
		if at := caller.get(field); at != nil {
			wrong.add(at.at, "caller.%s is of rpclab's callers, and caller.command makes its calls itself: remove it", field)
		}
	}
	if limits := config.Caller.Limits; limits != nil && limits.Ports > 0 {
		wrong.add(caller.get("limits").get("ports").at, "rpclab cannot limit the local ports of caller.command, which opens its own connections: remove limits.ports")
	}
	if config.Caller.Channel.Mode != "shared" {
		wrong.add(caller.get("channel").at, "caller.command opens its own channels: remove caller.channel")
	}
	if config.Gateway != nil {
		wrong.add(n.get("gateway").at, "a gateway needs rpclab's HTTP caller: remove gateway or caller.command")
	}
	if config.Policy != "" && !slices.Contains(vocabulary.ProxyRoutes, config.Route) && !slices.Contains(vocabulary.FullClientRoutes, config.Route) {
		wrong.add(n.get("policy").at, "the client of caller.command chooses its policy itself on the route %s: remove policy", config.Route)
	}
	if slices.Contains(vocabulary.GoOnlyRoutes, config.Route) {
		wrong.add(n.get("route").at, "only rpclab's callers in Go support the route %s: use direct, headless, or a route with a proxy", config.Route)
	}
	if config.Route == "clusterip" {
		wrong.add(n.get("route").at, "caller.command would keep calling one backend on the route clusterip, for which this machine has no virtual IP: use the route forwarder")
	}
	for _, field := range []string{"mix", "flow"} {
		if several := n.get("workload").get(field); several != nil {
			wrong.add(several.at, "caller.command makes one kind of calls: set workload.call to its name in place of %s", field)
		}
	}
	if serverProtocol := d.protocolOf(config.Service, config.Workload.Call); config.Service != "" && serverProtocol != grpc && !slices.Contains(vocabulary.routesCarrying(serverProtocol), config.Route) {
		wrong.add(n.get("route").at, "route %s does not support %s: use the route %s", config.Route, protocolName(serverProtocol), joinOr(vocabulary.routesCarrying(serverProtocol)))
	}
}

// checkClientFields checks that an arm without a client of the user's sets none of its fields. The defaults may, for
// other arms.
func (d *document) checkClientFields(config Config, arm string, wrong *problems) {
	for _, field := range []string{"dir", "env", "ready_timeout"} {
		if at := d.ownConfig(arm).get("caller").get(field); at != nil && config.Caller.Command == nil {
			wrong.add(at.at, "caller.%s is of caller.command: set command, or remove it", field)
		}
	}
}
