package experiment

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// OneLoad is an experiment with one arm: a load on a service, without a comparison.
type OneLoad struct {
	Name    string
	Service ServiceFile
	Call    string // of the service; empty: the first, unless Mix or Flow has several
	Mix     Mix
	Flow    []string
	Pace    string // the load in one clause, for the question
	// Load and Caller are those blocks of the arm, by field.
	Load, Caller map[string]any
	Policy       string // among several backends; empty: the route's default
	Rounds       int    // 0: 1
}

// Document returns the experiment as a document.
func (l OneLoad) Document() ([]byte, error) {
	calls := l.Service.Calls
	call := calls[max(0, slices.IndexFunc(calls, func(c ServiceCall) bool { return c.Name == l.Call }))]
	what := call.Method + strings.TrimSpace(call.HTTP+" "+call.Path)
	switch {
	case len(l.Mix) > 0:
		what = l.Mix.String()
	case len(l.Flow) > 0:
		what = strings.Join(l.Flow, ", then ")
	}
	defaults := map[string]any{"caller": l.Caller, "workload": map[string]any{"greet": map[string]any{}}, "load": l.Load, "route": "direct"}
	if l.Service.Server.Replicas > 1 || len(l.Service.Server.Addresses) > 1 {
		defaults["route"] = "endpointslice"
		if l.Policy != "" {
			defaults["policy"] = l.Policy
		}
	}
	return json.Marshal(map[string]any{
		"experiment": l.Name, "question": what + ": " + l.Pace,
		"defaults": defaults, "arms": map[string]any{l.Service.Name: map[string]any{}}, "rounds": cmp.Or(l.Rounds, 1),
	})
}
