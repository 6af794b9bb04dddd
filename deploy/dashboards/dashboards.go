// Package dashboards defines Grafana dashboards as code: for the metrics of the gateways and
// servers of `rpclab lab up balancing`, and of a run in progress. Its output depends only on the
// code.
package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

//go:generate go run ../generate ../grafana

// Files are all dashboards as JSON, by file name.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, build := range map[string]func() (dashboard.Dashboard, error){
		"study.json": study, "balancing.json": balancing, "run.json": run,
	} {
		built, err := build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		number(built.Panels)
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false) // so that people can read the queries
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(built); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = text.Bytes()
	}
	return files, nil
}

// number sets the IDs of rows and panels, which Grafana requires to differ.
func number(panels []dashboard.PanelOrRowPanel) {
	for i, p := range panels {
		id := uint32(i + 1)
		if p.RowPanel != nil {
			p.RowPanel.Id = id
		} else {
			p.Panel.Id = &id
		}
	}
}

// source is the Prometheus that the reader chooses.
var source = common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}

// start is a dashboard without panels, for the Prometheus that its reader chooses.
func start(title, uid, doc string) *dashboard.DashboardBuilder {
	return dashboard.NewDashboardBuilder(title).
		Uid(uid).
		Description(doc).
		Tags([]string{"rpclab"}).
		Refresh("10s").
		Time("now-15m", "now").
		Timezone("browser").
		Readonly().
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").
			Label("Prometheus").Type("prometheus"))
}

// values is a variable for the values of a label in the series that a selector matches.
func values(name, label, selector string) *dashboard.QueryVariableBuilder {
	query := "label_values(" + selector + ", " + label + ")"
	return dashboard.NewQueryVariableBuilder(name).
		Datasource(source).
		Query(dashboard.StringOrMap{String: &query}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged). // routes start and stop
		Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).
		Current(dashboard.VariableOption{
			Text:  dashboard.StringOrArrayOfString{String: new("All")},
			Value: dashboard.StringOrArrayOfString{String: new("$__all")},
		})
}
