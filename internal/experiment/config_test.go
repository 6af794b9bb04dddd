package experiment

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// A result stores a configuration as a map.
func TestAConfigurationEqualsTheOneReadFromItsMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := drawConfig(rt)
		doc, err := yaml.Marshal(want.Map())
		if err != nil {
			rt.Fatal(err)
		}
		n, err := parse("map", doc)
		if err != nil {
			rt.Fatal(err)
		}
		var got Config
		d := decoder{grammar: newGrammar(vocabulary), complete: true}
		d.decode(d.grammar.config, n, reflect.ValueOf(&got).Elem())
		if err := d.err(); err != nil {
			rt.Fatalf("%v\n%s", err, doc)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Errorf("(-want +got)\n%s\n%s", diff, doc)
		}
	})
}

func drawConfig(t *rapid.T) Config {
	span := func(name string, low, high time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(low), int64(high)).Draw(t, name))
	}
	whole := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
	loads := []Load{
		{Sequence: whole("sequence", 1, 1000)},
		{Burst: whole("burst", 1, 1000)},
		{Closed: &Closed{Users: whole("users", 1, 9), Think: span("think", 0, time.Hour), Duration: span("closed", 0, 24*time.Hour), Calls: whole("calls", 1, 9)}},
		{Open: &Open{Rate: rapid.Float64Range(0.001, 1e7).Draw(t, "rate"), Arrivals: rapid.SampledFrom([]string{"constant", "poisson"}).Draw(t, "arrivals"),
			Duration: span("open", time.Millisecond, 24*time.Hour), MaxInFlight: whole("in flight", 1, 1e6)}},
	}
	from := rapid.Float64Range(0.001, 1e6).Draw(t, "from")
	loads = append(loads, Load{Search: &Search{
		SLO: "p99 < 50ms and errors < 0.1%", From: from, To: from * 2, Arrivals: "constant", MaxInFlight: 7,
		Precision: Percent(rapid.Float64Range(0.1, 50).Draw(t, "precision")), Duration: span("search", time.Millisecond, time.Hour),
	}})
	streams := []*Stream{nil, {}, {Renew: span("renew", 1, time.Hour)}}
	channels := []Channel{{Mode: "shared"}, {Mode: "per-call"}, {Mode: "pool", Pool: whole("pool", 1, 10_000)}}
	return Config{
		Workload: Workload{Greet: &Greet{Delay: span("delay", 0, time.Minute), Workers: whole("workers", 0, 9)}},
		Server:   Server{Language: "go", Replicas: whole("replicas", 1, 250), Fresh: rapid.Bool().Draw(t, "fresh"), Drain: span("drain", 0, time.Minute)},
		Caller: Caller{Kind: "grpc-go", Channel: rapid.SampledFrom(channels).Draw(t, "channel"),
			Timeout: span("timeout", time.Millisecond, time.Hour), Warmup: whole("warm-up", 0, 100),
			Stream: rapid.SampledFrom(streams).Draw(t, "stream")},
		Route: rapid.SampledFrom(vocabulary.Routes).Draw(t, "route"),
		Load:  rapid.SampledFrom(loads).Draw(t, "load"),
	}
}

func TestMapHasTheFieldNamesOfTheDocument(t *testing.T) {
	got := Config{
		Workload: Workload{Greet: &Greet{Delay: 500 * time.Millisecond}},
		Server:   Server{Language: "go", Replicas: 3},
		Caller:   Caller{Kind: "grpc-go", Channel: Channel{Mode: "pool", Pool: 4}, Timeout: time.Minute},
		Route:    "clusterip",
		Load:     Load{Burst: 2000},
	}.Map()
	want := map[string]any{
		"workload": map[string]any{"greet": map[string]any{"delay": "500ms"}},
		"server":   map[string]any{"language": "go", "replicas": 3, "fresh": false},
		"caller":   map[string]any{"kind": "grpc-go", "channel": map[string]any{"pool": 4}, "timeout": "1m", "warmup": 0},
		"route":    "clusterip",
		"load":     map[string]any{"burst": 2000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A default that its own field rejects would be an error in every document.
func TestEveryDefaultIsValidAndEveryFieldIsDocumented(t *testing.T) {
	g := newGrammar(Vocabulary{})
	var walk func(typ *valueType)
	walk = func(typ *valueType) {
		for _, f := range typ.fields {
			if f.fallback != nil {
				d := decoder{grammar: g}
				d.value(f.typ, f.fallback)
				if err := d.err(); err != nil {
					t.Errorf("the default of %s is invalid: %v", f.typ.name, err)
				}
			}
			if f.typ.doc == "" {
				t.Errorf("the field %s has no description", f.typ.name)
			}
			walk(f.typ)
		}
		if typ.of != nil {
			walk(typ.of)
		}
	}
	walk(g.document)
}

func TestLoadsChannelsAndEventsAreDescribed(t *testing.T) {
	for want, v := range map[string]interface{ String() string }{
		"burst of 2000":             Load{Burst: 2000},
		"sequence of 10000":         Load{Sequence: 10000},
		"open loop, 1000/s for 45s": Load{Open: &Open{Rate: 1000, Arrivals: "constant", Duration: 45 * time.Second}},
		"search from 100/s to 5000/s, to 2%, for the highest rate at which p99 < 50ms": Load{Search: &Search{
			SLO: "p99 < 50ms", From: 100, To: 5000, Precision: 2, Duration: time.Second}},
		"20 users, 1s think time, for 50s":       Load{Closed: &Closed{Users: 20, Think: time.Second, Duration: 50 * time.Second}},
		"1 user, for 1 call":                     Load{Closed: &Closed{Users: 1, Calls: 1}},
		"1 user, for 1m or 9 calls":              Load{Closed: &Closed{Users: 1, Duration: time.Minute, Calls: 9}},
		"no load":                                Load{},
		"per-call":                               Channel{Mode: "per-call"},
		"shared":                                 Channel{Mode: "shared"},
		"pool of 4":                              Channel{Mode: "pool", Pool: 4},
		"scale 10":                               Event{Scale: 10},
		"kill 1":                                 Event{Kill: 1},
		"pause 2":                                Event{Pause: 2},
		"resume":                                 Event{Resume: true},
		"slow 2 by 50ms":                         Event{Slow: &Slow{Backends: 2, By: 50 * time.Millisecond}},
		"slow 1 times 10":                        Event{Slow: &Slow{Backends: 1, Times: 10}},
		"stop 3":                                 Event{Stop: 3},
		"roll":                                   Event{Roll: true},
		"fail 1 with UNAVAILABLE":                Event{Fail: &Fail{Backends: 1, Code: "UNAVAILABLE", Share: 100}},
		"fail 1 with INTERNAL for 2.5% of calls": Event{Fail: &Fail{Backends: 1, Code: "INTERNAL", Share: 2.5}},
		"flap 1 every 1s":                        Event{Flap: &Flap{Backends: 1, Every: time.Second}},
		"cut 2 by blackhole":                     Event{Cut: &Cut{Backends: 2, How: "blackhole"}},
		"dns delay 2s, wrong answers":            Event{DNS: &DNS{Delay: 2 * time.Second, Lie: true}},
		"dns delay 1m":                           DNS{Delay: time.Minute},
		"dns wrong answers":                      DNS{Lie: true},
		"dns recovers":                           DNS{},
		"recover":                                Event{Recover: true},
		"kill proxy":                             Event{KillProxy: true},
		"kill control":                           Event{KillControl: true},
		"nothing":                                Event{},
		"open loop, 0.5/s at random (Poisson) for 1h": Load{Open: &Open{Rate: 0.5, Arrivals: "poisson", Duration: time.Hour}},
	} {
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
