package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

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

// height is the height of every panel in rows of Grafana's grid, which is 24 columns wide.
const height = 8

// over is a query for lines over time; legend is the name of each line.
func over(query, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(source).Expr(query).LegendFormat(legend).Range()
}

// now is a query for the latest value.
func now(query, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(source).Expr(query).LegendFormat(legend).Instant()
}

// lines is a panel with lines over time, from zero up.
func lines(title, doc, unit string, columns uint32, queries ...*prometheus.DataqueryBuilder) *timeseries.PanelBuilder {
	panel := timeseries.NewPanelBuilder().
		Title(title).Description(doc).Unit(unit).Datasource(source).
		Span(columns).Height(height).
		Min(0).
		LineWidth(2).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).
			DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementBottom).
			Calcs([]string{"mean", "max"})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	for i, query := range queries {
		panel.WithTarget(query.RefId(ref(i)))
	}
	return panel
}

// bars is a panel with a bar for each of the latest values.
func bars(title, doc, unit string, columns uint32, query *prometheus.DataqueryBuilder) *bargauge.PanelBuilder {
	return bargauge.NewPanelBuilder().
		Title(title).Description(doc).Unit(unit).Datasource(source).
		Span(columns).Height(height).
		Min(0).
		Orientation(common.VizOrientationHorizontal).
		ReduceOptions(last()).
		WithTarget(query.RefId(ref(0)))
}

// figure is a panel with the latest value as a large number.
func figure(title, doc, unit string, columns uint32, query *prometheus.DataqueryBuilder) *stat.PanelBuilder {
	return stat.NewPanelBuilder().
		Title(title).Description(doc).Unit(unit).Datasource(source).
		Span(columns).Height(height).
		GraphMode(common.BigValueGraphModeNone).
		Orientation(common.VizOrientationAuto).
		ReduceOptions(last()).
		WithTarget(query.RefId(ref(0)))
}

func last() *common.ReduceDataOptionsBuilder {
	return common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})
}

// ref is the name of a panel's query in Grafana: A, B, …
func ref(i int) string { return string(rune('A' + i)) }

// steps are the colours of values: first for the smallest values, then each from its value up.
func steps(first string, more ...dashboard.Threshold) *dashboard.ThresholdsConfigBuilder {
	return dashboard.NewThresholdsConfigBuilder().
		Mode(dashboard.ThresholdsModeAbsolute).
		Steps(append([]dashboard.Threshold{{Color: first}}, more...))
}

func from(value float64, color string) dashboard.Threshold {
	return dashboard.Threshold{Value: &value, Color: color}
}
