package report

import (
	"bytes"
	"encoding/csv"
	"testing"

	"rpclab/internal/result"
)

func TestCSVHasARowForEachTrial(t *testing.T) {
	d := channels()
	d.Arms[0].Trials[0].Failed = "the caller died,\n\"killed\""
	d.Arms[1].Trials[0].Resources.Server = result.Usage{}
	d.Arms[1].Trials[0].Latency.Lost = 0.25
	trials := 0
	for _, arm := range d.Arms {
		trials += len(arm.Trials)
	}
	var out bytes.Buffer
	if err := CSV(&out, d); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll() // which requires equally many fields in all rows
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != trials+1 {
		t.Fatalf("%d rows, want a head and %d trials", len(rows), trials)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	failed, other := rows[1], rows[1+len(d.Arms[0].Trials)]
	for name, want := range map[string]string{"arm": d.Arms[0].Name, "failed_trial": `the caller died, "killed"`, "calls": "", "latency_p99_ms": "", "load.burst": "2000"} {
		if got := failed[column[name]]; got != want {
			t.Errorf("%s of the failed trial is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"arm": d.Arms[1].Name, "lost": "0.25", "server_rss_bytes": "", "server_cpu_us_per_call": "", "failed_trial": ""} {
		if got := other[column[name]]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if other[column["latency_p50_ms"]] == "" || other[column["calls"]] == "" {
		t.Errorf("a trial lacks its figures: %q", other)
	}
}
