package dashboards

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// collector is a running receiver of the OpenTelemetry collector.
type collector struct{ dir, grpc, http string }

func collect(t *testing.T) (c collector) {
	t.Helper()
	c.dir = t.TempDir()
	read := func() bool {
		text, err := os.ReadFile(filepath.Join(c.dir, "addresses"))
		if err != nil {
			return false
		}
		c.grpc, c.http, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
		return c.http != ""
	}
	start(t, read, testkit.Tool(t, "collector"), c.dir)
	return c
}

// attribute is one of OTLP in JSON.
type attribute struct {
	Key   string
	Value struct {
		StringValue, IntValue string
		DoubleValue           float64
	}
}

// attributes by name, as text.
func named(all []attribute) map[string]string {
	texts := map[string]string{}
	for _, a := range all {
		texts[strings.TrimPrefix(a.Key, "rpclab.")] = a.Value.StringValue + a.Value.IntValue
	}
	return texts
}

type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	StartTimeUnixNano                   string
	EndTimeUnixNano                     string
	Attributes                          []attribute
	Status                              struct{ Code int }
}

func (s span) times() (start, end int64) {
	start, _ = strconv.ParseInt(s.StartTimeUnixNano, 10, 64)
	end, _ = strconv.ParseInt(s.EndTimeUnixNano, 10, 64)
	return start, end
}

type metric struct {
	Name       string
	Gauge, Sum struct {
		DataPoints []struct {
			Attributes []attribute
			AsDouble   float64
		}
	}
}

// received returns the resource, the spans and the metrics of a run.
func (c collector) received(t *testing.T, run string) (resource map[string]string, spans []span, metrics []metric) {
	t.Helper()
	type scopes []struct {
		Spans   []span
		Metrics []metric
	}
	type ofResource []struct {
		Resource                 struct{ Attributes []attribute }
		ScopeSpans, ScopeMetrics scopes
	}
	for _, name := range []string{"traces", "metrics"} {
		file, err := os.Open(filepath.Join(c.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var request struct{ ResourceSpans, ResourceMetrics ofResource }
			if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
				t.Fatal(err)
			}
			for _, r := range slices.Concat(request.ResourceSpans, request.ResourceMetrics) {
				if of := named(r.Resource.Attributes); of["run"] == run || run == "" {
					resource = of
					for _, s := range slices.Concat(r.ScopeSpans, r.ScopeMetrics) {
						spans, metrics = append(spans, s.Spans...), append(metrics, s.Metrics...)
					}
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return resource, spans, metrics
}

func TestTheCollectorReceivesARun(t *testing.T) {
	t.Parallel()
	c := collect(t)
	for _, to := range []string{"http://" + c.http, "grpc://" + c.grpc} {
		t.Run(to[:4], func(t *testing.T) {
			t.Parallel()
			d := kill(t, "--otlp", to)
			_, spans, metrics := c.received(t, d.ID)
			byID, children := map[string]span{}, map[string][]string{}
			for _, s := range spans {
				byID[s.SpanID] = s
			}
			roots := 0
			for _, s := range spans {
				parent, ok := byID[s.ParentSpanID]
				if !ok {
					roots++
					if of := named(s.Attributes); s.Name != "run killing" || of["experiment"] != "killing" || of["run"] != d.ID || of["answer"] == "" {
						t.Errorf("the first span is %s with %v", s.Name, of)
					}
					continue
				}
				children[parent.SpanID] = append(children[parent.SpanID], s.Name)
				began, ended := s.times()
				if from, to := parent.times(); began < from || ended > to || began > ended || s.TraceID != parent.TraceID {
					t.Errorf("%s (%d to %d) is not within %s (%d to %d)", s.Name, began, ended, parent.Name, from, to)
				}
			}
			if roots != 1 {
				t.Errorf("%d spans have no parent, want 1", roots)
			}
			trials := map[string]string{} // the calls of each
			for _, s := range spans {
				if s.Name != "trial" {
					continue
				}
				of := named(s.Attributes)
				trials[of["arm"]+" "+of["round"]] = of["calls"]
				if parent := byID[s.ParentSpanID]; parent.Name != "round" || named(parent.Attributes)["round"] != of["round"] {
					t.Errorf("the trial %v is part of %s", of, parent.Name)
				}
				phases := slices.Sorted(slices.Values(children[s.SpanID]))
				if want := []string{"kill", "load", "start callers", "start servers", "stop callers", "warm up"}; !slices.Equal(phases, want) {
					t.Errorf("the trial %v has %v, want %v", of, phases, want)
				}
			}
			want, values := map[string]string{}, map[string][]float64{}
			for _, m := range metrics {
				for _, p := range slices.Concat(m.Gauge.DataPoints, m.Sum.DataPoints) {
					of := named(p.Attributes)
					key := strings.Join([]string{m.Name, of["arm"], of["quantile"] + of["phase"]}, " ")
					values[key] = append(values[key], p.AsDouble)
				}
			}
			for _, arm := range d.Arms {
				for i, trial := range arm.Trials {
					want[fmt.Sprint(arm.Name, " ", trial.Round)] = fmt.Sprint(trial.Calls)
					p99, wanted := values["rpclab.trial.latency "+arm.Name+" 0.99"], trial.Latency.Bounded().P99
					if len(p99) != len(arm.Trials) || math.Abs(p99[i]-wanted/1000) > 1e-9 {
						t.Errorf("the p99 of %s is %v s, want %v ms in round %d", arm.Name, p99, wanted, trial.Round)
					}
				}
				if times := values["rpclab.phase.time "+arm.Name+" load"]; len(times) == 0 || slices.Max(times) < 0.8 {
					t.Errorf("the loads of %s took %v s", arm.Name, times)
				}
			}
			if !maps.Equal(trials, want) {
				t.Errorf("the trials have the calls %v, want %v", trials, want)
			}
		})
	}
}

// TestTheCollectorReceivesALoad configures rpclab as OpenTelemetry's SDKs.
func TestTheCollectorReceivesALoad(t *testing.T) {
	t.Parallel()
	c, at := collect(t), free(t)
	start(t, listens(at), testkit.Rpclab(t), "server", "--listen", at)
	sh(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://%s OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_RESOURCE_ATTRIBUTES=team=lab,service.name=nightly %s load --call rpclab.v1.Greeter/SayHello -n 50 --warmup 5 --no-store --quiet %s",
		c.grpc, testkit.Rpclab(t), at)
	resource, spans, metrics := c.received(t, "")
	if resource["service.name"] != "nightly" || resource["team"] != "lab" || resource["service.version"] == "" {
		t.Errorf("the resource is %v", resource)
	}
	names := map[string]int{}
	for _, s := range spans {
		names[s.Name]++
	}
	if want := map[string]int{"run load": 1, "prepare": 1, "round": 1, "trial": 1, "warm up": 1, "load": 1, "measure the load generator": 1}; !maps.Equal(names, want) {
		t.Errorf("the spans are %v, want %v", names, want)
	}
	if !slices.ContainsFunc(metrics, func(m metric) bool {
		return m.Name == "rpclab.trial.calls" && len(m.Gauge.DataPoints) == 1 && m.Gauge.DataPoints[0].AsDouble == 50
	}) {
		t.Errorf("no metric has the 50 calls: %+v", metrics)
	}
}
