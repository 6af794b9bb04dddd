package experiments

import (
	"regexp"
	"strings"
	"testing"

	"rpclab/internal/experiment"
)

const orders = `service: orders
server: {command: ["./orders", "{{.Address}}"]}
calls: {get: {method: orders.v1.Orders/Get}}
`

// Each built-in experiment runs on a user's service, or says why it cannot and which arms can.
func TestBuiltInExperimentsOnAService(t *testing.T) {
	for name, c := range map[string]struct {
		arms string
		want string // empty: it runs
	}{
		"channels": {}, "churn": {}, "rollout": {}, "proxy-tax": {}, "policies": {},
		"balancing":    {arms: "clusterip,headless,envoy,endpointslice,xds,haproxy,nginx,forwarder,clusterip-again"},
		"chain":        {arms: "wire-go,grpc-go"},
		"long-streams": {arms: "unary,streams,renewed"},
		"security":     {want: "--service orders.yaml: experiment security compares what only rpclab's own servers have (arm unary-tls sets server.security, arm unary-mtls sets server.security, arm unary-jwt-once sets caller.jwt, and 3 more): it cannot run on a service. To measure what TLS costs your service, write an experiment that names two services, one of them with tls, as examples/python-service/tls.yaml does (docs/your-service.md)"},
		"ladder":       {want: "--service orders.yaml: experiment ladder compares what only rpclab's own servers have (arm rest-blocking sets server.model, arm rest-virtual sets server.model, arm rest-webflux sets server.model, and 13 more): it cannot run on a service"},
		"contracts":    {want: "--service orders.yaml: experiment contracts compares what only rpclab's own servers have (arm side-by-side sets server.next_api, arm removed sets server.next_api, arm renumbered sets server.next_api, and 4 more): it cannot run on a service"},
		"budget":       {},
		"streams":      {want: "--service orders.yaml: experiment streams compares what only rpclab's own servers have (arm bidi-published sets caller.style, arm unary-1-published sets caller.style, arm unary-3-published sets caller.style, and 22 more): it cannot run on a service"},
	} {
		file, doc, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		o := experiment.Options{Service: &experiment.ServiceDocument{File: "orders.yaml", Text: []byte(orders)}}
		if c.arms != "" {
			o.Arms = strings.Split(c.arms, ",")
		}
		for _, o.Quick = range []bool{false, true} {
			got := ""
			if _, err := experiment.Expand(file, doc, o, vocabulary); err != nil {
				got = err.Error()
			}
			if got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
				t.Errorf("%s with quick %v: %s\nwant %s", name, o.Quick, got, c.want)
			}
		}
	}
}

// The error of arms that cannot call a service names those that can, whichever protocol it speaks.
func TestTheArmsThatAnErrorNamesCanCallTheService(t *testing.T) {
	remedy := regexp.MustCompile(`add --arms (\S+)$`)
	named := 0
	for _, name := range Names() {
		file, doc, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"method: orders.v1.Orders/Get", "method: orders.v1.Orders/Chat, stream: {requests: 1, ping_pong: true}", "http: GET, path: /orders"} {
			text := strings.Replace(orders, "method: orders.v1.Orders/Get", call, 1)
			o := experiment.Options{Service: &experiment.ServiceDocument{File: "orders.yaml", Text: []byte(text)}}
			_, err := experiment.Expand(file, doc, o, vocabulary)
			if err == nil {
				continue
			}
			found := remedy.FindStringSubmatch(err.Error())
			if found == nil {
				continue // it cannot run on the service
			}
			named++
			o.Arms = strings.Split(found[1], ",")
			if _, err := experiment.Expand(file, doc, o, vocabulary); err != nil {
				t.Errorf("%s, %s: with %s: %v", name, call, found[0], err)
			}
		}
	}
	if named < 10 {
		t.Errorf("%d errors name arms, want 10 or more", named)
	}
}

// Only backends that rpclab starts, as processes or in pods, have a fault proxy before them.
func TestPoliciesNeedBackendsThatRpclabStarts(t *testing.T) {
	file, doc, err := Open("policies")
	if err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]string{
		"image: orders:1":          "",
		"deployment: shop/orders":  "",
		"addresses: [127.0.0.1:1]": "slow would disturb the service orders, which rpclab did not start",
		"service: shop/orders":     "slow would disturb the Service shop/orders, which rpclab did not start",
	} {
		text := strings.Replace(orders, `command: ["./orders", "{{.Address}}"]`, server, 1)
		o := experiment.Options{Service: &experiment.ServiceDocument{File: "orders.yaml", Text: []byte(text)}, Arms: []string{"round-robin", "deadline"}}
		if _, err := experiment.Expand(file, doc, o, vocabulary); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", server, err, want)
		}
	}
}

// rpclab cannot limit a server that it did not start, so an experiment that sets limits cannot run on one.
func TestLimitsNeedBackendsThatRpclabStarts(t *testing.T) {
	for _, c := range []struct{ experiment, server, set, want string }{
		{"budget", "addresses: [127.0.0.1:1]", "", "experiments/budget.yaml:33:16: server.cpus would limit the service orders, which rpclab did not start: remove it, or set server.command in place of server.addresses"},
		{"budget", "service: shop/orders", "", "experiments/budget.yaml:33:16: server.cpus would limit the service orders, which rpclab did not start: remove it, or set server.deployment in place of server.service"},
		{"channels", "addresses: [127.0.0.1:1]", "server.cpus=0.1", "--set server.cpus=0.1: server.cpus would limit the service orders, which rpclab did not start: remove it, or set server.command in place of server.addresses"},
		{"channels", "addresses: [127.0.0.1:1]", "server.memory=64Mi", "--set server.memory=64Mi: server.memory would limit the service orders, which rpclab did not start: remove it, or set server.command in place of server.addresses"},
		{"channels", "addresses: [127.0.0.1:1]", "server.replicas=5", "--set server.replicas=5: server.replicas would scale the service orders, which rpclab did not start: remove it, or set server.command in place of server.addresses"},
		{"channels", "addresses: [127.0.0.1:1]", "sweep={server.replicas: [1, 2]}", "--set sweep={server.replicas: [1, 2]}: server.replicas would scale the service orders, which rpclab did not start: remove it, or set server.command in place of server.addresses"},
		{"channels", "addresses: [127.0.0.1:1]", "server.replicas=1", ""},
		{"channels", "service: shop/orders", "", ""},
		{"channels", "addresses: [127.0.0.1:1]", "", ""},
		{"budget", "image: orders:1", "", ""},
		{"budget", "deployment: shop/orders", "", ""},
	} {
		file, doc, err := Open(c.experiment)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(orders, `command: ["./orders", "{{.Address}}"]`, c.server, 1)
		o := experiment.Options{Service: &experiment.ServiceDocument{File: "orders.yaml", Text: []byte(text)}}
		if c.set != "" {
			o.Set = []string{c.set}
		}
		got := ""
		if _, err := experiment.Expand(file, doc, o, vocabulary); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s with %s and --set %s:\n%s\nwant\n%s", c.experiment, c.server, c.set, got, c.want)
		}
	}
}
