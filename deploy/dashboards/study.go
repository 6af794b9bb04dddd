package dashboards

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// published are the study's rows and our mode of each; it had a service mesh where we
// have Envoy.
var published = []struct{ row, mode string }{
	{"Normal (ClusterIP)", "clusterip"},
	{"Headless", "headless"},
	{"Mesh (Envoy)", "envoy"},
}

// study is the dashboard of study 1: a row for each way, each with its calls per server,
// in total, and as they grew. Every panel selects the mode of its own row. A panel of the
// published mesh row selected another row's mode, so what it showed was not the mesh:
// one of the study's confounds, and the reason why no mode is written twice here.
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
	// Grafana draws the last row once for each value.
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
