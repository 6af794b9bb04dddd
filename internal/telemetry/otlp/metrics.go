package otlp

import (
	"time"

	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"

	"rpclab/internal/telemetry"
)

// metricsOf returns figures at a time as metrics: gauges, and counters since the start of the run.
func metricsOf(figures []telemetry.Figure, start, at time.Time) (all []*metrics.Metric) {
	byName := map[string]*metrics.Metric{}
	for _, f := range figures {
		m := byName[f.Name]
		if m == nil {
			m = &metrics.Metric{Name: f.Name, Unit: f.Unit, Description: f.Help}
			m.Data = &metrics.Metric_Gauge{Gauge: &metrics.Gauge{}}
			if f.Counter {
				m.Data = &metrics.Metric_Sum{Sum: &metrics.Sum{IsMonotonic: true, AggregationTemporality: metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}}
			}
			byName[f.Name] = m
			all = append(all, m)
		}
		point := &metrics.NumberDataPoint{
			Attributes: ofLabels(f.Labels), StartTimeUnixNano: uint64(start.UnixNano()), TimeUnixNano: uint64(at.UnixNano()),
			Value: &metrics.NumberDataPoint_AsDouble{AsDouble: f.Value},
		}
		switch data := m.Data.(type) {
		case *metrics.Metric_Gauge:
			data.Gauge.DataPoints = append(data.Gauge.DataPoints, point)
		case *metrics.Metric_Sum:
			data.Sum.DataPoints = append(data.Sum.DataPoints, point)
		}
	}
	return all
}
