package dashboards

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"rpclab/internal/testkit"
)

const (
	startWithin = time.Minute
	stopWithin  = 30 * time.Second
	askWithin   = 30 * time.Second
	countWithin = time.Minute // Prometheus looks every second
)

// watcher is a running Prometheus.
type watcher struct {
	prometheus.API
	at string // its address
}

// watch starts Prometheus with the configuration of deploy, but scrapes every second. It scrapes the targets
// written to its directory, and a run. It accepts remote write.
func watch(t *testing.T, dir, run string) watcher {
	t.Helper()
	text, err := os.ReadFile("../../deploy/prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	quick := strings.Replace(string(text), "scrape_interval: 10s", "scrape_interval: 1s", 1)
	if quick == string(text) {
		t.Fatalf("prometheus.yml does not scrape every 10 s, like the study:\n%s", text)
	}
	quick = strings.ReplaceAll(quick, "127.0.0.1:9464", run)
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, []byte(quick), 0o600); err != nil {
		t.Fatal(err)
	}
	at := free(t)
	start(t, answers("http://"+at+"/-/ready"), testkit.Tool(t, "prometheus"),
		"--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+at, "--log.level=warn", "--web.enable-remote-write-receiver")
	client, err := api.NewClient(api.Config{Address: "http://" + at, Client: &fresh})
	if err != nil {
		t.Fatal(err)
	}
	return watcher{prometheus.NewAPI(client), at}
}

// sample has the labels and the latest value of a series.
type sample struct {
	model.Metric
	value float64
}

func (s sample) label(name string) string { return string(s.Metric[model.LabelName(name)]) }

// now returns the current answer to a query, without NaN and infinity.
func (w watcher) now(t *testing.T, query string) (seen []sample) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), askWithin)
	defer cancel()
	value, _, err := w.Query(ctx, query, time.Now())
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for _, s := range value.(model.Vector) {
		if isNumber(s.Value) {
			seen = append(seen, sample{s.Metric, float64(s.Value)})
		}
	}
	return seen
}

// lately returns the last answer to a query in the past minute, without NaN and infinity.
func (w watcher) lately(t *testing.T, query string) (seen []sample) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), askWithin)
	defer cancel()
	end := time.Now()
	value, _, err := w.QueryRange(ctx, query, prometheus.Range{Start: end.Add(-time.Minute), End: end, Step: time.Second})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for _, series := range value.(model.Matrix) {
		for _, pair := range slices.Backward(series.Values) {
			if isNumber(pair.Value) {
				seen = append(seen, sample{series.Metric, float64(pair.Value)})
				break
			}
		}
	}
	return seen
}

func isNumber(v model.SampleValue) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// labels returns the values of a label in the series that a selector matches.
func (w watcher) labels(t *testing.T, label, selector string) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), askWithin)
	defer cancel()
	values, _, err := w.LabelValues(ctx, label, []string{selector}, time.Now().Add(-time.Minute), time.Now())
	if err != nil {
		t.Fatalf("label %s of %s: %v", label, selector, err)
	}
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// Counters of calls: of gateways by server, and of both ends by code.
const (
	answered = `sum by (mode) (grpc_requests_total)`
	received = `sum by (mode) (grpc_client_handled_total{grpc_code="OK"})`
	served   = `sum by (mode) (grpc_server_handled_total{grpc_code="OK", grpc_service="rpclab.v1.Fibonacci"})`
)

// await waits until a query returns this number of calls in every mode.
func (w watcher) await(t *testing.T, query string, l lab, calls int) {
	t.Helper()
	want, got := map[string]float64{}, map[string]float64{}
	for mode := range l.gateways {
		want[mode] = float64(calls)
	}
	defer func() {
		if t.Failed() {
			t.Logf("%s: %v, not %v", query, got, want)
		}
	}()
	testkit.AwaitFor(t, countWithin, "the calls counted are those made", func() bool {
		clear(got)
		for _, s := range w.now(t, query) {
			got[s.label("mode")] = s.value
		}
		return maps.Equal(got, want)
	})
}
