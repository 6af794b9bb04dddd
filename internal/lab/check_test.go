package lab_test

import (
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
)

func TestOnIstioXDSTheControlPlaneSendsRetries(t *testing.T) {
	const document = "experiment: x\nquestion: q?\ndefaults: {workload: {greet: {}}, load: {burst: 10}, caller: {retry: {}}}\narms: {a: {route: xds}, b: {route: istio-xds}}\n"
	_, err := experiment.Expand("x.yaml", []byte(document), experiment.Options{}, lab.Vocabulary())
	const want = "on route istio-xds the control plane sends clients their retries"
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v, want only %q", err, want)
	}
}

func TestAClusterRefusesEventsThatItCannotPerform(t *testing.T) {
	const (
		own    = "experiment: x\nquestion: q?\ndefaults: {workload: {greet: {}}, server: {replicas: 2}, load: {burst: 10}, route: direct}\narms: {a: {}}\n"
		python = "experiment: x\nquestion: q?\ndefaults: {workload: {greet: {}}, server: {replicas: 2, language: python}, load: {burst: 10}, route: direct}\narms: {a: {}}\n"
		pods   = "experiment: x\nquestion: q?\nservices: {shop: {server: {image: shop:v1, replicas: 2}, calls: {get: {method: a.B/C}}}}\n" +
			"defaults: {service: shop, workload: {call: get}, load: {burst: 10}, route: direct}\narms: {a: {}}\n"
	)
	const here, there = ": only local can do that; run it with --on local, or leave it out", ": only kubernetes can do that; run it with --on kubernetes, or leave it out"
	for _, c := range []struct{ document, kind, event, want string }{
		{own, "local", "cut: {backends: 1}", ""},
		{own, "local", "cut: {backends: 1, how: blackhole}", ""},
		{own, "local", "drain: 1", `event "drain 1" affects nodes` + there},
		{own, "kubernetes", "drain: 1", ""},
		{own, "kubernetes", "dns: {delay: 1s}", `event "dns delay 1s" affects rpclab's own name server` + here},
		{own, "kubernetes", "cut: {backends: 1, how: blackhole}", ""},
		{python, "kubernetes", "cut: {backends: 1}", `event "cut 1 by reset" cuts connections of servers in another language than Go` + here},
		{pods, "kubernetes", "cut: {backends: 1}", ""},
		{pods, "kubernetes", "cut: {backends: 1, how: blackhole}", ""},
	} {
		got := ""
		if err := plan(t, c.document+"events: [{at: 1s, "+c.event+"}]\n", experiment.Options{}).CheckCluster(c.kind); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s on %s: %q, want %q", c.event, c.kind, got, c.want)
		}
	}
}

// Without a virtual IP, a program in another language dials one backend, and a new connection picks no other.
func TestAGatewayOfAnotherLanguageNeedsAVirtualIPForItsConnections(t *testing.T) {
	const refused = "arm a: on this machine, all connections of a gateway in python over the route clusterip reach the same backend, so channel: own-connection has no effect: use route: forwarder, or run it with --on kubernetes"
	for _, c := range []struct{ kind, route, gateway, want string }{
		{"local", "clusterip", "{language: python, model: async, channel: own-connection}", refused},
		{"kubernetes", "clusterip", "{language: python, model: async, channel: own-connection}", ""},
		{"local", "clusterip", "{language: python, model: async}", ""}, // its channels share a connection
		{"local", "clusterip", "{model: async, channel: own-connection}", ""},
		{"local", "forwarder", "{language: python, model: async, channel: own-connection}", ""},
	} {
		document := "experiment: x\nquestion: q?\ndefaults: {workload: {fibonacci: {}}, server: {replicas: 2}, caller: {kind: http}, load: {burst: 10}}\n" +
			"arms: {a: {route: " + c.route + ", gateway: " + c.gateway + "}}\n"
		got := ""
		if err := plan(t, document, experiment.Options{}).CheckCluster(c.kind); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s over %s on %s: %q, want %q", c.gateway, c.route, c.kind, got, c.want)
		}
	}
}

func TestACallerOfAnotherLanguageNeedsAVirtualIP(t *testing.T) {
	const refused = "arm a: on this machine, only callers in Go support the route clusterip: use route: forwarder, or run it with --on kubernetes"
	for _, c := range []struct{ kind, route, want string }{
		{"local", "clusterip", refused},
		{"kubernetes", "clusterip", ""},
		{"local", "forwarder", ""},
	} {
		document := "experiment: x\nquestion: q?\ndefaults: {workload: {greet: {}}, caller: {kind: python-grpc-aio}, load: {burst: 10}}\narms: {a: {route: " + c.route + "}}\n"
		got := ""
		if err := plan(t, document, experiment.Options{}).CheckCluster(c.kind); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s on %s: %q, want %q", c.route, c.kind, got, c.want)
		}
	}
}
