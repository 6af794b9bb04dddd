package remotewrite

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"rpclab/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines are series as Prometheus shows them.
func lines(all []series) (text []string) {
	for _, s := range all {
		var labels []string
		for _, l := range s.labels[1:] {
			labels = append(labels, fmt.Sprintf("%s=%q", l.Name, l.Value))
		}
		text = append(text, fmt.Sprintf("%s{%s} %v", s.labels[0].Value, strings.Join(labels, ","), s.value))
	}
	return text
}

func TestSeriesOfMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "calls_total"}, []string{"code"})
	latency := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds", Buckets: []float64{0.5, 1}})
	registry.MustRegister(calls, latency)
	calls.WithLabelValues("OK").Add(3)
	latency.Observe(0.75)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	all := ofFamilies(families, []telemetry.Label{{Name: "job", Value: "rpclab"}}, now)
	want := []string{
		`calls_total{code="OK",job="rpclab"} 3`,
		`seconds_bucket{job="rpclab",le="0.5"} 0`, `seconds_bucket{job="rpclab",le="1"} 1`, `seconds_bucket{job="rpclab",le="+Inf"} 1`,
		`seconds_count{job="rpclab"} 1`, `seconds_sum{job="rpclab"} 0.75`,
	}
	if got := lines(all); !slices.Equal(got, want) {
		t.Errorf("the series are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	ended := missing(all, all[1:], now)
	if len(ended) != 1 || ended[0].labels[0].Value != "calls_total" || math.Float64bits(ended[0].value) != math.Float64bits(stale) {
		t.Errorf("the ended series are %v, want calls_total", ended)
	}
}

// Remote write has no empty labels. To Prometheus, a label without a value is none.
func TestEmptyLabelsAreNotSent(t *testing.T) {
	t.Parallel()
	all := ofFigures([]telemetry.Figure{{Name: "rpclab.trial.calls", Labels: []telemetry.Label{{Name: "arm", Value: "one"}, {Name: "cell"}}}}, []telemetry.Label{{Name: "job"}}, time.Now())
	if got, want := lines(all), []string{`rpclab_trial_calls{arm="one"} 0`}; !slices.Equal(got, want) {
		t.Errorf("the series are %s, want %s", got, want)
	}
}

func TestNamesAreThoseOfOpenTelemetryInPrometheus(t *testing.T) {
	t.Parallel()
	for _, f := range []telemetry.Figure{
		{Name: "rpclab_trial_latency_seconds", Unit: "s"}, {Name: "rpclab_trial_calls", Unit: "{call}"}, {Name: "rpclab_trial_rate_per_second", Unit: "{call}/s"},
		{Name: "rpclab_trial_lost_ratio", Unit: "1"}, {Name: "rpclab_trial_client_memory_bytes", Unit: "By"}, {Name: "rpclab_phase_time_seconds_total", Unit: "s", Counter: true},
	} {
		want := f.Name
		f.Name = strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(want, "_total"), suffixes[f.Unit]), "_", ".")
		if got := nameOf(f); got != want {
			t.Errorf("%s is %s, want %s", f.Name, got, want)
		}
	}
}

func TestTwoSamplesHaveDifferentTimes(t *testing.T) {
	t.Parallel()
	e := &exporter{}
	last := e.next()
	for range 100 {
		next := e.next()
		if next.Sub(last) < time.Millisecond {
			t.Fatalf("%v comes %v after %v, want at least 1 ms", next, next.Sub(last), last)
		}
		last = next
	}
}
