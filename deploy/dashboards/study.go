package dashboards

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// published are the rows of the published study, with the mode of each here. The study had a service
// mesh in place of Envoy.
var published = []struct{ row, mode string }{
	{"Normal (ClusterIP)", "clusterip"},
	{"Headless", "headless"},
	{"Mesh (Envoy)", "envoy"},
}

// study is the dashboard of the published balancing study (docs/studies.md): a row for each route,
// with the calls per server, in total, and their increase. A panel of the published mesh row selected
// the mode of another row, one of the study's confounds. Here each row names its mode only once.
func study() (dashboard.Dashboard, error) {
	var known []string
	for _, p := range published {
		known = append(known, p.mode)
	}
	further := fmt.Sprintf(`up{%s, mode!~"%s"}`, gateways, strings.Join(known, "|"))
	board := start("Balancing, as published", "rpclab-study",
		"The published balancing study: which server answers, by route. The study's three routes come first, then all others that are running.").
		WithVariable(values("further", "mode", further).Label("Further routes"))
	for _, p := range published {
		addRow(board, dashboard.NewRowBuilder(p.row), p.mode)
	}
	// Grafana repeats the last row for each value of the variable.
	addRow(board, dashboard.NewRowBuilder("$further").Repeat("further"), "$further")
	return board.Build()
}

func addRow(board *dashboard.DashboardBuilder, row *dashboard.RowBuilder, mode string) {
	board.WithRow(row).
		WithPanel(bars("Calls per server",
			"Calls that each server answered since its gateway started.",
			units.Short, 8, now(perServer(mode), "{{server_name}}"))).
		WithPanel(figure("Calls in total",
			"Calls that all servers answered since the gateway started.",
			units.Short, 8, now(total(mode), "calls"))).
		WithPanel(lines("Increase over time",
			"Increase of each server's calls over four scrapes. Prometheus counts no increase in the first scrape of a server.",
			units.Short, 8, over(growth(mode), "{{server_name}}")))
}
