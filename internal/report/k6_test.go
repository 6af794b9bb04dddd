package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"rpclab/internal/result"
)

func TestK6SummaryHasTheMetricsOfK6(t *testing.T) {
	d := channels()
	var out bytes.Buffer
	type summary struct {
		Metrics map[string]map[string]float64
		Root    struct {
			Name, Path, ID string
			Groups         map[string]any
			Checks         map[string]struct{ Passes, Fails uint64 }
		} `json:"root_group"`
	}
	read := func() (s summary) {
		t.Helper()
		out.Reset()
		if err := K6Summary(&out, d); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	several := read()
	if len(several.Metrics) != 4*len(d.Arms) {
		t.Errorf("%d metrics of %d arms, want 4 of each:\n%s", len(several.Metrics), len(d.Arms), out.String())
	}
	d.Arms = d.Arms[:1]
	arm := &d.Arms[0]
	arm.Calls, arm.Errors, arm.Dropped = 90, map[string]uint64{"UNAVAILABLE": 15}, 10
	arm.Trials = []result.Trial{{Measures: result.Measures{ElapsedMS: 4000}}, {Measures: result.Measures{ElapsedMS: 9000, Window: &result.Window{LengthMS: 1000}}}}
	one := read()
	took := one.Metrics["iteration_duration"]
	if took["med"] != arm.Latency.P50 || took["p(95)"] != arm.Latency.P95 || took["avg"] != arm.Latency.Mean {
		t.Errorf("the durations are %v, want %+v", took, arm.Latency)
	}
	if checks := one.Metrics["checks"]; checks["passes"] != 75 || checks["fails"] != 25 || checks["value"] != 0.75 {
		t.Errorf("the checks are %v, want 75 calls that succeeded and 25 that did not", checks)
	}
	if n, dropped := one.Metrics["iterations"]["count"], one.Metrics["dropped_iterations"]; n != 90 || dropped["count"] != 10 || dropped["rate"] != 2 {
		t.Errorf("%v iterations, and dropped %v; want 90, and 10 in 5 s", n, dropped)
	}
	if one.Root.ID != "d41d8cd98f00b204e9800998ecf8427e" || one.Root.Checks["calls succeed"].Fails != 25 {
		t.Errorf("the root group is %+v", one.Root)
	}
	arm.Calls, arm.Errors, arm.Dropped, arm.Latency = 0, nil, 0, result.Histogram{}
	if none := read(); len(none.Metrics) > 0 {
		t.Errorf("the metrics of an arm without calls are %v, want none", none.Metrics)
	}
}
