// Package board reads the dashboards of deploy, and makes the queries that Grafana makes for their panels. Package
// deploy/dashboards checks the whole of each dashboard.
package board

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Board is the part of a dashboard that its queries need.
type Board struct {
	Panels     []Panel
	Templating struct {
		List []Variable
	}
}

// Panel is a panel or a row.
type Panel struct {
	Title   string
	Panels  []Panel // of a row that is folded
	Targets []Query
}

// Query is a query of a panel.
type Query struct {
	Expr, LegendFormat string
	Instant            bool
}

// Variable is a variable of a dashboard.
type Variable struct{ Name, Type, Query string }

// Read reads the JSON file of a dashboard.
func Read(path string) (b Board, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return b, fmt.Errorf("dashboard %s: %w", path, err)
	}
	return b, nil
}

// Flat returns the panels of all rows.
func (b Board) Flat() []Panel { return flat(b.Panels) }

func flat(panels []Panel) (all []Panel) {
	for _, p := range panels {
		all = append(all, p)
		all = append(all, flat(p.Panels)...)
	}
	return all
}

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// Label is the label whose values in the series of a selector a variable has.
func (v Variable) Label() (label, selector string, err error) {
	parts := labelValues.FindStringSubmatch(v.Query)
	if parts == nil {
		return "", "", fmt.Errorf("variable %s: %s does not query the values of a label", v.Name, v.Query)
	}
	return parts[2], parts[1], nil
}

// With returns the queries that Grafana makes for a panel, given the values of the dashboard's variables: a pattern
// matches all values of a variable, and a row is repeated for each value of a variable that is no pattern. Rates are
// over five minutes, where Grafana has four scrapes, so that they cover a whole test.
func (q Query) With(variables map[string][]string) []string {
	all := []string{strings.ReplaceAll(q.Expr, "$__rate_interval", "5m")}
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
