package dashboards

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// board is the part of a dashboard's JSON that these tests need; package deploy/dashboards checks the whole
// of it.
type board struct {
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

type panel struct {
	Title   string
	Panels  []panel // of a row that is folded
	Targets []query
}

type query struct {
	Expr, LegendFormat string
	Instant            bool
}

// boards returns all dashboards of deploy, by file.
func boards(t *testing.T) map[string]board {
	t.Helper()
	paths, err := filepath.Glob("../../deploy/grafana/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	all := map[string]board{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var b board
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = b
	}
	return all
}

// flat returns the panels of all rows.
func flat(panels []panel) (all []panel) {
	for _, p := range panels {
		all = append(all, p)
		all = append(all, flat(p.Panels)...)
	}
	return all
}

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// variables returns the variables of a dashboard with their values in Prometheus.
func (w watcher) variables(t *testing.T, b board) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, v := range b.Templating.List {
		if v.Type != "query" {
			continue
		}
		parts := labelValues.FindStringSubmatch(v.Query)
		if parts == nil {
			t.Fatalf("variable %s: %s does not query the values of a label", v.Name, v.Query)
		}
		if all[v.Name] = w.labels(t, parts[2], parts[1]); len(all[v.Name]) == 0 {
			t.Errorf("variable %s has no values: %s", v.Name, v.Query)
		}
	}
	return all
}

// asked returns the queries that Grafana makes for a panel: a pattern matches all values of a variable, and
// a row is repeated for each value of a variable that is no pattern.
func asked(query string, variables map[string][]string) []string {
	// Grafana's window is four scrapes; this one covers the whole test.
	all := []string{strings.ReplaceAll(query, "$__rate_interval", "5m")}
	for name, values := range variables {
		var next []string
		for _, query := range all {
			query = strings.ReplaceAll(query, `=~"$`+name+`"`, `=~"`+strings.Join(values, "|")+`"`)
			if !strings.Contains(query, "$"+name) {
				next = append(next, query)
				continue
			}
			for _, value := range values {
				next = append(next, strings.ReplaceAll(query, "$"+name, value))
			}
		}
		all = next
	}
	return all
}

// see requires an answer to the query of a panel, with every mode if the panel shows modes.
func (w watcher) see(t *testing.T, q query, variables map[string][]string, modes []string) {
	t.Helper()
	for _, query := range asked(q.Expr, variables) {
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
	b := boards(t)[file]
	for _, p := range flat(b.Panels) {
		if p.Title == title {
			return asked(p.Targets[0].Expr, w.variables(t, b))[0]
		}
	}
	t.Fatalf("%s has no panel %q", file, title)
	return ""
}
