package experiment

import (
	"cmp"
	"maps"
	"net"
	"path"
	"regexp"
	"slices"
	"strings"

	"rpclab/internal/suggest"
)

// dnsLabel matches the first part of a host name (RFC 1123).
var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// ofOwnServers are the fields that only rpclab's own servers have, or that say how their methods are called.
var ofOwnServers = []string{
	"workload", "gateway", "server.language", "server.model", "server.workers", "server.max_age", "server.age_grace", "server.security",
	"server.heap", "server.direct_memory", "server.api", "server.next_api",
	"caller.style", "caller.streams", "caller.ahead", "caller.jwt", "caller.signing", "caller.metadata",
}

// isOfOwnServers reports whether a field path is one of these fields or below one.
func isOfOwnServers(path string) bool {
	return slices.ContainsFunc(ofOwnServers, func(own string) bool { return path == own || strings.HasPrefix(path, own+".") })
}

// checkService checks fields of a service that depend on each other. n is where it is defined.
func checkService(s Service, n *node, wrong *problems) {
	place := func(path ...string) position {
		at, _ := n.find(path)
		return at.at
	}
	checkServer(n.get("server"), wrong)
	if s.Server.Command != nil && len(s.Server.Command) == 0 {
		wrong.add(place("server", "command"), "server.command is empty: set the program and its arguments")
	}
	if s.Server.Addresses != nil && len(s.Server.Addresses) == 0 {
		wrong.add(place("server", "addresses"), "server.addresses is empty: set at least one address, host:port")
	}
	for _, address := range n.get("server").get("addresses").elements() {
		if !isHostPort(address.text) {
			wrong.add(address.at, "server.addresses: %q is not host:port: experiments and loads of a service call it over TCP, "+
				"so set a name or an IP address and a port of 1 to 65535, such as 127.0.0.1:50051", address.text)
		}
	}
	if len(s.Proto) > 0 && s.Protoset != "" {
		wrong.add(place("protoset"), "a service accepts only one of proto and protoset")
	}
	if !dnsLabel.MatchString(s.Name) {
		wrong.add(place("service"), "service %q is not a DNS name, which it becomes: use lower-case letters, digits and dashes", s.Name)
	}
	if s.TLS != nil && s.TLS.ServerName != "" && s.Authority != "" && s.TLS.ServerName != s.Authority && !strings.HasPrefix(s.Authority, s.TLS.ServerName+":") {
		wrong.add(place("tls"), "tls.servername and authority differ, and both are the name in the server's certificate: set one of them")
	}
	if s.TLS != nil && (s.TLS.Cert == "") != (s.TLS.Key == "") {
		wrong.add(place("tls"), "tls.cert and tls.key belong together: set both or neither")
	}
	if names := s.Server.hostNames(); s.TLS != nil && s.TLS.ServerName == "" && s.Authority == "" && !s.TLS.Insecure && len(names) > 1 {
		wrong.add(place("server", "addresses"), "the addresses have the names %s, and all calls verify one name in the server's certificate: set tls.servername", strings.Join(names, " and "))
	}
	for _, c := range s.Calls {
		at := func(field string) position { return place("calls", c.Name, field) }
		switch {
		case c.HTTP == "" && c.Path != "":
			wrong.add(at("path"), "call %s: path is of an HTTP request: set http to its method, or remove path", c.Name)
		case c.HTTP != "" && !strings.HasPrefix(c.Path, "/"):
			wrong.add(at("path"), "call %s: an HTTP request needs a path that begins with /", c.Name)
		case c.HTTP != "" && c.Stream != nil:
			wrong.add(at("stream"), "call %s: stream is of gRPC methods: remove it", c.Name)
		case c.Method != "" && !strings.Contains(strings.Trim(c.Method, "/"), "/"):
			wrong.add(at("method"), "call %s: %q is not a method: use the form package.Service/Method", c.Name, c.Method)
		}
		checkFrom(c, at("from"), wrong)
	}
}

// isHostPort reports whether a text has a host, which may not exist, and a port that a server can have.
func isHostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return false
	}
	number, err := net.LookupPort("tcp", port)
	return err == nil && number > 0
}

// serverFields are the fields of a server that apply to each way in which it can run.
var serverFields = map[string][]string{
	"command":    {"dir", "env", "replicas", "ready", "timeout", "stop"},
	"image":      {"pull_secret", "args", "env", "files", "port", "resources", "replicas", "ready", "timeout", "stop"},
	"deployment": {"env", "files", "port", "resources", "replicas", "ready", "timeout"},
	"service":    {"port"},
	"addresses":  {"ready", "timeout"},
}

// checkServer checks the fields of a server that depend on how it runs.
func checkServer(n *node, wrong *problems) {
	how := ""
	for _, p := range n.fields() {
		if _, ok := serverFields[p.key]; ok {
			how = p.key
		}
	}
	for _, p := range n.fields() {
		if p.key == how || slices.Contains(serverFields[how], p.key) {
			continue
		}
		if p.key == "identity" { // [placeServer] moves the only one
			wrong.add(p.at, "the service has two identities: remove server.identity, or the other")
			continue
		}
		var able []string
		for _, other := range slices.Sorted(maps.Keys(serverFields)) {
			if slices.Contains(serverFields[other], p.key) {
				able = append(able, "server."+other)
			}
		}
		wrong.add(p.at, "server.%s does not apply to server.%s, only to %s: remove it", p.key, how, joinOr(able))
	}
	checkFiles(n.get("files"), wrong)
	if secret := n.get("pull_secret"); secret != nil && !isObjectName(secret.text) {
		wrong.add(secret.at, "server.pull_secret: %q is not NAMESPACE/NAME", secret.text)
	}
	if existing := n.get(how); (how == "deployment" || how == "service") && !isObjectName(existing.text) {
		wrong.add(existing.at, "server.%s: %q is not NAMESPACE/NAME", how, existing.text)
	}
}

// checkFiles checks the paths of files in pods.
func checkFiles(files *node, wrong *problems) {
	for _, p := range files.fields() {
		if !path.IsAbs(p.key) || path.Clean(p.key) != p.key || p.key == "/" {
			wrong.add(p.at, "server.files: %q is not the absolute path of a file in the pods, such as /etc/tls/tls.crt", p.key)
		}
		for _, other := range files.fields() {
			if strings.HasPrefix(other.key, p.key+"/") {
				wrong.add(p.at, "server.files: %s is a file, and the directory of %s: change one of the paths", p.key, other.key)
			}
		}
	}
}

// isObjectName reports whether a text is the namespace and the name of an object on Kubernetes.
func isObjectName(text string) bool {
	namespace, name, ok := strings.Cut(text, "/")
	return ok && dnsLabel.MatchString(namespace) && !slices.ContainsFunc(strings.Split(name, "."), func(label string) bool { return !dnsLabel.MatchString(label) })
}

// checkServices checks the services of an experiment.
func (d *document) checkServices(e *Experiment, wrong *problems) {
	for i, s := range e.Services {
		e.Services[i].node = d.root.get("services").get(s.Name)
		checkService(s, e.Services[i].node, wrong)
	}
}

// checkArmService checks that an arm and its service fit together.
func (d *document) checkArmService(e *Experiment, c Config, n *node, wrong *problems) {
	place := func(path ...string) position {
		at, _ := n.find(path)
		return at.at
	}
	if c.Service == "" {
		for i, event := range e.Events {
			if event.RollTo != "" {
				wrong.add(d.root.get("events").values[i].get("roll_to").at, "roll_to is of a service: set service, or use roll: true")
			}
		}
		for field, set := range map[string]bool{"call": c.Workload.Call != "", "mix": c.Workload.Mix != nil, "flow": c.Workload.Flow != nil} {
			if set {
				wrong.add(place("workload", field), "workload.%s names %s of a service: set service too", field, cmp.Or(map[string]string{"call": "a call"}[field], "calls"))
			}
		}
		return
	}
	var names []string
	for _, s := range e.Services {
		names = append(names, s.Name)
	}
	i := slices.Index(names, c.Service)
	if i < 0 {
		wrong.add(place("service"), "no service %q in services%s", c.Service, suggest.DidYouMean(c.Service, names))
		return
	}
	if c.Workload.Call == "" && c.Workload.Mix == nil && len(c.Workload.Flow) == 0 {
		wrong.add(place("workload"), "the service %s has methods of its own: set workload to call: %s", c.Service, callNames(e.Services[i].ServiceBody)[0])
		return
	}
	calls := callNames(e.Services[i].ServiceBody)
	if c.Workload.Call != "" && !slices.Contains(calls, c.Workload.Call) {
		wrong.add(place("workload", "call"), "the service %s has no call %q%s", c.Service, c.Workload.Call, suggest.DidYouMean(c.Workload.Call, calls))
	}
	if c.Workload.Mix != nil {
		c.Workload.Mix.check(c.Service, calls, func(call string) position { return place("workload", "mix", call) }, wrong)
	}
	d.checkArmFlow(c, e.Services[i], place, wrong)
	d.checkProtocols(c, place("workload"), wrong)
	if able := d.grammar.vocabulary.callersWith("service"); c.Caller.Command == nil && !slices.Contains(able, c.Caller.Kind) {
		wrong.add(place("caller", "kind"), "the caller %s calls rpclab's own servers only: use the caller %s", c.Caller.Kind, joinOr(able))
	}
	switch vocabulary := d.grammar.vocabulary; {
	case e.Services[i].TLS == nil || !slices.Contains(vocabulary.ProxyRoutes, c.Route):
	case slices.Contains(vocabulary.MeshRoutes, c.Route):
		wrong.add(place("route"), "route %s balances calls, and its proxies cannot read those of the service %s, which its clients encrypt: they would balance connections only. "+
			"If the service accepts calls in clear text too, remove tls, since the mesh encrypts them; or use route clusterip, which balances connections", c.Route, c.Service)
	case c.Caller.Command != nil:
		wrong.add(place("route"), "route %s has a proxy that accepts calls in clear text and encrypts those to the service %s, and rpclab does not know whether the client of caller.command can make such calls: use a caller of rpclab, use another route, or remove tls", c.Route, c.Service)
	}
	d.checkServiceEvents(e, c, e.Services[i], wrong)
	d.checkServiceLimits(c, e.Services[i], place, wrong)
	for _, path := range ofOwnServers {
		if path == "workload" {
			continue
		}
		steps := strings.Split(path, ".")
		if found, set := n.find(steps); set && found != nil {
			wrong.add(found.at, "%s is of rpclab's own servers, and this arm calls the service %s: remove it", path, c.Service)
		}
	}
}

// checkServiceLimits checks that rpclab can enforce the limits of a service: it limits what it starts.
func (d *document) checkServiceLimits(c Config, s Service, place func(path ...string) position, wrong *problems) {
	instead := "server.command in place of server.addresses"
	switch {
	case s.Server.Service != "":
		instead = "server.deployment in place of server.service"
	case s.Server.Addresses == nil:
		return
	}
	refuse := func(field, would string) {
		at, path := place("server", field), "server."+field
		if d.root.get("sweep").get(path) != nil { // one error for all its values
			at = d.position("sweep", path)
		}
		wrong.add(at, "%s would %s the service %s, which rpclab did not start: remove it, or set %s", path, would, s.Name, instead)
	}
	for field, set := range map[string]bool{"cpus": c.Server.CPUs > 0, "memory": c.Server.Memory > 0} {
		if set {
			refuse(field, "limit")
		}
	}
	// Addresses have their number, unless the experiment sets another. A Service has pods of which the document knows nothing.
	swept := d.root.get("sweep").get("server.replicas") != nil
	if n := len(s.Server.Addresses); n > 0 && c.Server.Replicas != n || n == 0 && swept {
		refuse("replicas", "scale")
	}
}

// checkServiceEvents checks that rpclab may and can perform the events on a service.
func (d *document) checkServiceEvents(e *Experiment, c Config, s Service, wrong *problems) {
	for i, event := range e.Events {
		if event.RollTo != "" {
			d.checkVersion(e, s, event.RollTo, d.root.get("events").values[i].get("roll_to").at, wrong)
			continue
		}
		action, _ := event.Action()
		at := d.root.get("events").values[i].get(action)
		if at == nil {
			at = d.root.get("events").values[i]
		}
		switch {
		case slices.Contains([]string{"dns", "recover", "kill_proxy", "kill_control"}, action): // on what rpclab starts
		case s.Server.Addresses != nil:
			wrong.add(at.at, "%s would disturb the service %s, which rpclab did not start: remove the event, or set server.command in place of server.addresses", action, s.Name)
		case s.Server.Service != "" && slices.Contains([]string{"kill", "roll", "scale"}, action):
			if !d.mayDisturb {
				wrong.add(at.at, "%s would disturb the Service %s, which rpclab did not start: remove the event, set server.deployment in place of server.service to disturb copies of its pods, or permit it with --allow-disruption",
					action, s.Server.Service)
			}
		case s.Server.Service != "":
			wrong.add(at.at, "%s would disturb the Service %s, which rpclab did not start: use kill, roll or scale with --allow-disruption, or set server.deployment in place of server.service", action, s.Server.Service)
		case event.NeedsFaultProxy(s.InPods()) && s.TLS != nil && c.Caller.Command != nil:
			wrong.add(at.at, "%s needs a proxy with a certificate of the run, and rpclab cannot make the client of caller.command trust it: remove tls from the service %s, use a caller of rpclab, or use kill, stop, pause, flap, roll, scale or cut", action, s.Name)
		}
	}
}

// checkEncryption checks that the arms do not differ in TLS if fault proxies replace the TLS of their services.
func (d *document) checkEncryption(r resolved, wrong *problems) {
	e := &r.experiment
	inPods := slices.ContainsFunc(e.Services, func(s Service) bool { return s.InPods() })
	i := slices.IndexFunc(e.Events, func(event Event) bool { return event.NeedsFaultProxy(inPods) })
	if i < 0 {
		return
	}
	kind := func(arm int) string {
		j := slices.IndexFunc(e.Services, func(s Service) bool { return s.Name == r.configs[arm][0].Service })
		switch {
		case j < 0:
			return "" // rpclab's own servers have no fault proxy
		case e.Services[j].TLS == nil:
			return "clear text"
		case e.Services[j].TLS.Cert != "":
			return "TLS with a client certificate"
		}
		return "TLS"
	}
	action, _ := e.Events[i].Action()
	first, proxied := "", "" // the first arm with a fault proxy, and its encryption
	for arm, a := range e.Arms {
		switch k := kind(arm); {
		case k == "" || k == proxied:
		case first == "":
			first, proxied = a.Name, k
		default:
			wrong.add(d.root.get("events").values[i].get(action).at, "arm %s uses %s and arm %s %s, and %s needs a proxy that encrypts calls in place of the services, so the difference would be that of the proxy's TLS: remove the event, or compare arms with the same tls",
				first, proxied, a.Name, k, action)
			return
		}
	}
}

// checkVersion checks that a service can be rolled out to another.
func (d *document) checkVersion(e *Experiment, s Service, to string, at position, wrong *problems) {
	var names []string
	for _, other := range e.Services {
		names = append(names, other.Name)
	}
	i := slices.Index(names, to)
	switch {
	case i < 0:
		wrong.add(at, "no service %q in services%s", to, suggest.DidYouMean(to, names))
	case s.Server.Image != "" && e.Services[i].Server.Image != "":
	case s.Server.Command == nil || e.Services[i].Server.Command == nil:
		wrong.add(at, "roll_to replaces what rpclab started by another version: set server.command, or server.image, of both %s and %s", s.Name, to)
	}
}

// checkArmFlow checks the flow of an arm, and that calls without a flow take no values from others.
func (d *document) checkArmFlow(c Config, s Service, place func(path ...string) position, wrong *problems) {
	if len(c.Workload.Flow) == 0 {
		for _, share := range c.Workload.Shares() {
			if from := d.root.get("services").get(s.Name).get("calls").get(share.Call).get("from"); from != nil {
				wrong.add(from.at, "call %s takes values from the answers of earlier calls, which only a flow has: set workload to flow: [OTHER, %s] (rpclab run --flow OTHER,%s), or remove from", share.Call, share.Call, share.Call)
			}
		}
		return
	}
	checkFlow(c.Workload.Flow, s.Name, callNames(s.ServiceBody), func(int) position { return place("workload", "flow") }, wrong)
	vocabulary, protocol := d.grammar.vocabulary, d.protocolOf(s.Name, c.Workload.Flow[0])
	able := slices.DeleteFunc(vocabulary.callersWith("flow"), func(kind string) bool { return !slices.Contains(vocabulary.protocols(kind), protocol) })
	if !slices.Contains(vocabulary.callersWith("flow"), c.Caller.Kind) {
		wrong.add(place("caller", "kind"), "the caller %s does not read responses, which a flow needs: use the caller %s", c.Caller.Kind, joinOr(able))
	}
	if c.Caller.Hedge != nil {
		wrong.add(place("caller", "hedge"), "hedge sends a call again, and a flow has several: remove one of them")
	}
}

// checkProtocols checks that all calls of an arm have the same protocol.
func (d *document) checkProtocols(c Config, at position, wrong *problems) {
	all := c.Workload.Shares()
	for _, other := range all[min(1, len(all)):] {
		if a, b := d.protocolOf(c.Service, all[0].Call), d.protocolOf(c.Service, other.Call); a != b {
			wrong.add(at, "call %s of the service %s is %s, and call %s is %s: one arm has one client, so use calls of one protocol", all[0].Call, c.Service, protocolName(a), other.Call, protocolName(b))
			return
		}
	}
}

// protocolOf returns the protocol of a call of a service.
func (d *document) protocolOf(service, call string) string {
	if d.root.get("services").get(service).get("calls").get(call).get("http") != nil {
		return rest
	}
	return grpc
}

func callNames(s ServiceBody) (names []string) {
	for _, c := range s.Calls {
		names = append(names, c.Name)
	}
	return names
}
