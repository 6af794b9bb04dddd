package dashboards

import (
	"slices"
	"strings"
	"testing"

	"rpclab/test/dashboards/board"
)

// readBoard returns a dashboard of deploy.
func readBoard(t *testing.T, file string) board.Board {
	t.Helper()
	b, err := board.Read("../../deploy/grafana/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// variables returns the variables of a dashboard with their values in Prometheus.
func (w watcher) variables(t *testing.T, b board.Board) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, v := range b.Templating.List {
		if v.Type != "query" {
			continue
		}
		label, selector, err := v.Label()
		if err != nil {
			t.Fatal(err)
		}
		if all[v.Name] = w.labels(t, label, selector); len(all[v.Name]) == 0 {
			t.Errorf("variable %s has no values: %s", v.Name, v.Query)
		}
	}
	return all
}

// see requires an answer to the query of a panel, with every mode if the panel shows modes.
func (w watcher) see(t *testing.T, q board.Query, variables map[string][]string, modes []string) {
	t.Helper()
	for _, query := range q.With(variables) {
		look := w.lately
		if q.Instant {
			look = w.now
		}
		seen := look(t, query)
		if len(seen) == 0 {
			t.Errorf("no answer to:\n%s", query)
			continue
		}
		if !strings.Contains(q.LegendFormat, "{{mode}}") {
			continue
		}
		for _, mode := range modes {
			if !slices.ContainsFunc(seen, func(s sample) bool { return s.label("mode") == mode }) {
				t.Errorf("the mode %s is missing in the answer to:\n%s", mode, query)
			}
		}
	}
}

// find returns the query of a panel, with all values of its variables.
func (w watcher) find(t *testing.T, file, title string) string {
	t.Helper()
	b := readBoard(t, file)
	for _, p := range b.Flat() {
		if p.Title == title {
			return p.Targets[0].With(w.variables(t, b))[0]
		}
	}
	t.Fatalf("%s has no panel %q", file, title)
	return ""
}
