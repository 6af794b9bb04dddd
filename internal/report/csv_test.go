package report

import (
	"bytes"
	"encoding/csv"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// rowsOf returns the rows of the CSV of a run, the first with the names of the columns.
func rowsOf(t *testing.T, d result.Document) [][]string {
	t.Helper()
	var out bytes.Buffer
	if err := CSV(&out, d); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestCSVSaysWhatEachPartCosts has a trial of a search behind a proxy, in a group of arms.
func TestCSVSaysWhatEachPartCosts(t *testing.T) {
	d := channels()
	trial := &d.Arms[0].Trials[0]
	trial.Group, trial.Capacity = 2, &result.Capacity{Rate: 1234.5}
	trial.Resources.Proxy, trial.Resources.Gateway = result.Usage{CPU: 12.5, RSS: 4096}, result.Usage{CPU: 7, RSS: 8192}
	rows := rowsOf(t, d)
	page, err := os.ReadFile("../../docs/outputs.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range rows[0] {
		figure := regexp.MustCompile(`^(latency|service|lateness)_(.*)_ms$`).FindStringSubmatch(name)
		documented := []string{name}
		if figure != nil {
			documented = []string{figure[1] + "_FIGURE_ms", figure[2]}
		}
		for _, word := range documented {
			if !strings.Contains(string(page), "`"+word+"`") {
				t.Errorf("docs/outputs.md does not explain the column %s", name)
			}
		}
		want, ok := map[string][2]string{
			"proxy_cpu_us_per_call": {"12.5", ""}, "proxy_rss_bytes": {"4096", ""}, "gateway_cpu_us_per_call": {"7", ""},
			"gateway_rss_bytes": {"8192", ""}, "capacity_per_s": {"1234.5", ""}, "group": {"2", ""},
		}[name]
		if got := [2]string{rows[1][i], rows[2][i]}; ok && got != want {
			t.Errorf("the column %s has %q, want %q", name, got, want)
		}
	}
	if got := strings.Join(rows[0][len(rows[0])-5:], " "); got != "capacity_per_s group answered_per_s drain_ms limited" {
		t.Errorf("the last columns are %s", got)
	}
}

// The rate of a server that refuses calls at once is high, and so may be the latency of a generator that is late.
func TestCSVHasTheRateOfSuccessfulCallsAndTheLimitOfTheGenerator(t *testing.T) {
	d := channels()
	first, second := &d.Arms[0].Trials[0], &d.Arms[0].Trials[1]
	first.Measures = result.Measures{Calls: 1000, Errors: map[string]uint64{"UNAVAILABLE": 900}, Rate: 500, Window: &result.Window{LengthMS: 2000, DrainMS: 1500, AnsweredRate: 50}}
	first.Limited = "rpclab sent calls up to 12.0 ms late (p99)"
	second.Measures = result.Measures{Calls: 1000, Errors: map[string]uint64{"UNAVAILABLE": 250}, Rate: 400}
	rows := rowsOf(t, d)
	for name, want := range map[string][2]string{"rate_per_s": {"500", "400"}, "answered_per_s": {"50", "300"}, "drain_ms": {"1500", ""}, "limited": {first.Limited, ""}} {
		i := slices.Index(rows[0], name)
		if i < 0 {
			t.Errorf("there is no column %s", name)
			continue
		}
		if got := [2]string{rows[1][i], rows[2][i]}; got != want {
			t.Errorf("the column %s has %q, want %q", name, got, want)
		}
	}
}

func TestCSVHasARowForEachTrial(t *testing.T) {
	d := channels()
	d.Arms[0].Trials[0].Failed = "the caller died,\n\"killed\""
	d.Arms[1].Trials[0].Resources.Client, d.Arms[1].Trials[0].Resources.Server = result.Usage{}, result.Usage{}
	// An interrupt cancelled half of the failed calls. They count as lost, though not in the latency.
	d.Arms[1].Trials[0].Calls, d.Arms[1].Trials[0].Errors, d.Arms[1].Trials[0].Latency.Lost = 80, map[string]uint64{"CANCELLED": 20}, 0.125
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
	for name, want := range map[string]string{"arm": d.Arms[1].Name, "lost": "0.25", "server_rss_bytes": "", "server_cpu_us_per_call": "", "client_cpu_us_per_call": "", "client_rss_bytes": "", "failed_trial": ""} {
		if got := other[column[name]]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if other[column["latency_p50_ms"]] == "" || other[column["calls"]] == "" {
		t.Errorf("a trial lacks its figures: %q", other)
	}
}

// A trial may know the memory of its callers and not their CPU time, or the other way round.
func TestCSVLeavesOutTheUnknownHalfOfACost(t *testing.T) {
	d := channels()
	d.Arms[0].Trials[0].Resources.Client, d.Arms[0].Trials[1].Resources.Client = result.Usage{RSS: 4096}, result.Usage{CPU: 3.5}
	rows := rowsOf(t, d)
	for name, want := range map[string][2]string{"client_cpu_us_per_call": {"", "3.5"}, "client_rss_bytes": {"4096", ""}} {
		i := slices.Index(rows[0], name)
		if got := [2]string{rows[1][i], rows[2][i]}; got != want {
			t.Errorf("the column %s has %q, want %q", name, got, want)
		}
	}
}
