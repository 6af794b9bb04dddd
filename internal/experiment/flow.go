package experiment

import (
	"maps"
	"regexp"
	"slices"

	"rpclab/internal/suggest"
)

// valueName matches the name of a value in a template.
var valueName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkFrom checks the names of the values that a call takes from earlier answers. Their expressions are compiled with
// the methods of the service.
func checkFrom(c ServiceCall, at position, wrong *problems) {
	for _, name := range slices.Sorted(maps.Keys(c.From)) {
		switch {
		case !valueName.MatchString(name):
			wrong.add(at, "call %s: from.%s cannot be used as {{.%s}}: use letters, digits and _ in the name", c.Name, name, name)
		case name == "Number" || name == "Worker":
			wrong.add(at, "call %s: from.%s: {{.%s}} has another meaning: use another name", c.Name, name, name)
		}
	}
}

// checkFlow checks the names of the calls in a flow. place(i) is the position of call i, place(-1) that of the flow.
func checkFlow(flow []string, service string, calls []string, place func(i int) position, wrong *problems) {
	for i, name := range flow {
		if !slices.Contains(calls, name) {
			wrong.add(place(i), "the service %s has no call %q%s", service, name, suggest.DidYouMean(name, calls))
		}
	}
	if len(flow) < 2 {
		wrong.add(place(-1), "workload.flow needs at least two calls: for one, set workload to call: NAME")
	}
}
