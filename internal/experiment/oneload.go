package experiment

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// OneLoadTimeout is the deadline of each call of a load that does not set one.
const OneLoadTimeout = 20 * time.Second

// OneLoad is an experiment with one arm: a load on a service, without a comparison.
type OneLoad struct {
	Name    string
	Service ServiceFile
	Call    string // of the service; empty: the first, unless Mix or Flow has several
	Mix     Mix
	Flow    []string
	Pace    string // the load in one clause, for the question
	// Load and Caller are the fields of these blocks of the arm, by name.
	Load, Caller map[string]any
	Policy       string // among several backends; empty: the route's default
	Rounds       int    // 0: 1
}

// Route returns the route of the arm. Only endpointslice has policies.
func (l OneLoad) Route() string {
	server := l.Service.Server
	named := slices.ContainsFunc(server.hostNames(), func(name string) bool { return name != "localhost" })
	switch {
	case !named && server.Replicas <= 1 && len(server.Addresses) <= 1: // a name can stand for several addresses
		return "direct"
	case l.firstCall().HTTP != "":
		return "clusterip" // which balances connections
	}
	return "endpointslice" // which balances calls
}

func (l OneLoad) firstCall() ServiceCall {
	return l.Service.FirstCall(Workload{Call: l.Call, Mix: l.Mix, Flow: l.Flow})
}

// Document returns the experiment as a document.
func (l OneLoad) Document() ([]byte, error) {
	call := l.firstCall()
	what := call.Method + strings.TrimSpace(call.HTTP+" "+call.Path)
	switch {
	case len(l.Mix) > 0:
		what = l.Mix.String()
	case len(l.Flow) > 0:
		what = strings.Join(l.Flow, ", then ")
	}
	defaults := map[string]any{"caller": l.Caller, "workload": map[string]any{"greet": map[string]any{}}, "load": l.Load, "route": l.Route()}
	if l.Policy != "" && l.Route() == "endpointslice" {
		defaults["policy"] = l.Policy
	}
	server := l.Service.Server
	if server.Replicas == 0 && len(server.Addresses) == 0 { // else the route direct would call the first of several
		defaults["server"] = map[string]any{"replicas": 1}
	}
	return json.Marshal(map[string]any{
		"experiment": l.Name, "question": what + ": " + l.Pace,
		"defaults": defaults, "arms": map[string]any{l.Service.Name: map[string]any{}}, "rounds": cmp.Or(l.Rounds, 1),
	})
}
