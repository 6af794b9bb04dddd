package experiment

import (
	"slices"
	"strings"
	"testing"
)

// shop is an experiment with a flow of two calls.
const shop = `experiment: shop
question: How long does a login with a request take?
services:
  shop:
    server: {command: [./shop]}
    calls:
      login: {method: a.B/Login}
      get: {method: a.B/Get, from: {token: login.token}, metadata: {token: "{{.token}}"}}
      page: {http: GET, path: "/"}
defaults: {service: shop, route: clusterip, workload: {flow: [login, get]}, load: {burst: 5}}
arms:
  shared: {}
  per-call: {caller: {channel: per-call}}
`

func TestAFlowHasItsCallsInOrder(t *testing.T) {
	p, err := Expand("s.yaml", []byte(shop), Options{Rounds: 1}, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range p.Trials {
		if got := trial.Config.Workload; !slices.Equal(got.Shares(), []CallShare{{"login", 1}, {"get", 1}}) {
			t.Errorf("arm %s makes %+v, want login and get", trial.Arm, got)
		}
	}
	if from := p.Services[0].Calls[1].From["token"]; from != "login.token" {
		t.Errorf("the token is from %q", from)
	}
}

func TestWrongFlowsAreNamed(t *testing.T) {
	const flow = "{flow: [login, get]}"
	for change, want := range map[[2]string]string{
		{flow, "{flow: [login, gett]}"}:                          `s.yaml:10:62: the service shop has no call "gett"; did you mean "get"?`,
		{flow, "{flow: [login]}"}:                                "s.yaml:10:62: workload.flow needs at least two calls: for one, set workload to call: NAME",
		{flow, "{flow: []}"}:                                     "s.yaml:10:55: the service shop has methods of its own: set workload to call: login",
		{flow, "{flow: [login, page]}"}:                          "call login of the service shop is gRPC, and call page is REST: one arm has one client, so use calls of one protocol",
		{flow, "{call: get}"}:                                    "s.yaml:8:36: call get takes values from the answers of earlier calls, which only a flow has: set workload to flow: [OTHER, get] (rpclab run --flow OTHER,get), or remove from",
		{flow, "{mix: {login: 1, get: 1}}"}:                      "s.yaml:8:36: call get takes values from the answers of earlier calls",
		{flow, "{flow: [login, get], call: get}"}:                "",
		{"channel: per-call", "command: [./client]"}:             "s.yaml:10:62: caller.command makes one kind of calls: set workload.call to its name in place of flow",
		{"channel: per-call", "hedge: {attempts: 2, delay: 1s}"}: "hedge sends a call again, and a flow has several: remove one of them",
		{"{token: login.token}", "{my-token: login.token}"}:      "s.yaml:8:36: call get: from.my-token cannot be used as {{.my-token}}: use letters, digits and _ in the name",
		{"{token: login.token}", "{Number: login.token}"}:        "s.yaml:8:36: call get: from.Number: {{.Number}} has another meaning: use another name",
		{"{service: shop, ", "{"}:                                "workload.flow names calls of a service: set service too",
	} {
		_, err := Expand("s.yaml", []byte(strings.Replace(shop, change[0], change[1], 1)), Options{Rounds: 1}, vocabulary)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", change[1], err, want)
		}
	}
}

func TestAFlowOnTheCommandLine(t *testing.T) {
	p, err := withService(t, "channels", Options{Flow: []string{"get", "get"}})
	if err != nil || !slices.Equal(p.Trials[0].Config.Workload.Flow, []string{"get", "get"}) {
		t.Errorf("%v, %v", p.Trials, err)
	}
	_, err = withService(t, "channels", Options{Flow: []string{"get", "gt"}})
	if want := `--flow get,gt: the service orders has no call "gt"; did you mean "get"?`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if got := (Options{Service: &ServiceDocument{File: "o.yaml"}, Flow: []string{"login", "get"}}).Command("channels"); got != "rpclab run channels --service o.yaml --flow login,get --seed 0" {
		t.Errorf("%s", got)
	}
}
