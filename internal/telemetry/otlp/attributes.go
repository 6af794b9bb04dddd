package otlp

import (
	"strings"

	common "go.opentelemetry.io/proto/slim/otlp/common/v1"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
	"rpclab/internal/telemetry"
)

func text(name, value string) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: valid(value)}}}
}

// valid replaces what is not UTF-8, such as in the log of a process: one such byte makes a request invalid.
func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

func number(name string, value int64) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value}}}
}

func decimal(name string, value float64) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: value}}}
}

func ofLabels(labels []telemetry.Label) (all []*common.KeyValue) {
	for _, l := range labels {
		all = append(all, text(l.Name, l.Value))
	}
	return all
}

// ofCell returns the point of the sweep; none without a sweep.
func ofCell(cell map[string]any) []*common.KeyValue {
	if len(cell) == 0 {
		return nil
	}
	return []*common.KeyValue{text("rpclab.cell", result.Cell(cell).String())}
}

// ofTrial returns the place of a trial in its run.
func ofTrial(t experiment.Trial) []*common.KeyValue {
	return append(ofCell(t.Cell), text("rpclab.arm", t.Arm), number("rpclab.round", int64(t.Round)))
}

// figures returns what a trial measured.
func figures(t result.Trial) (all []*common.KeyValue) {
	if t.Failed != "" {
		return nil
	}
	all = []*common.KeyValue{
		number("rpclab.calls", int64(t.Calls)), number("rpclab.failed_calls", int64(t.Measures.Failed())),
		number("rpclab.dropped_calls", int64(t.Dropped)), decimal("rpclab.rate", t.Rate),
	}
	if latency := t.Latency.Bounded(); !latency.Empty() {
		all = append(all, decimal("rpclab.latency.p50_ms", latency.P50), decimal("rpclab.latency.p99_ms", latency.P99))
	}
	return all
}
