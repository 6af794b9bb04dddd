package result

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTrendReturnsFinishedRunsOfOneExperiment(t *testing.T) {
	s, ctx := openStore(t, t.TempDir()), context.Background()
	for i, experiment := range []string{"channels", "churn", "channels"} {
		d := sampleDocument(t)
		d.ID, d.Started, d.Experiment, d.Quick = fmt.Sprint("run-", i), start.Add(time.Duration(i)*time.Hour), experiment, i == 2
		d.Arms[0].Rate, d.Arms[0].Calls, d.Arms[0].Dropped = float64(100*(i+1)), 90, uint64(5*i)
		d.Arms[0].Errors = nil
		must(t, s.Save(ctx, d))
	}
	unfinished := sampleDocument(t)
	unfinished.ID = "run-3"
	must(t, s.Begin(ctx, unfinished))
	points, err := s.Trend(ctx, "channels", "rate")
	must(t, err)
	if len(points) != 2 || points[0].Run != "run-0" || points[0].Value != 100 || points[1].Value != 300 || !points[1].Quick ||
		points[0].Lost != 0 || points[1].Lost != 0.1 || points[0].Arm != "shared" || points[0].Cell != "load.burst=1000" {
		t.Errorf("Trend returned %+v, want the rates 100 and 300 of run-0 and run-2, which lost no call and a tenth of them", points)
	}
	if points, err := s.Trend(ctx, "channels", "capacity"); err != nil || len(points) != 0 {
		t.Errorf("%+v, %v; no arm has a capacity", points, err)
	}
	if _, err := s.Trend(ctx, "channels", "p99; DROP TABLE runs"); err == nil || !strings.Contains(err.Error(), "known names: p50, p90") {
		t.Errorf("unknown figure: error %v, want one with the known names", err)
	}
}

// saveRuns stores n finished runs of one experiment.
func saveRuns(t testing.TB, s *Store, n, arms int) {
	t.Helper()
	config := map[string]any{}
	for i := range 40 { // a header has some kilobytes for each arm
		config[fmt.Sprint("setting-", i)] = strings.Repeat("x", 40)
	}
	d := Document{Schema: Schema, Experiment: "channels", Question: "?", Cluster: "local", Rounds: 10, TrialCount: 10 * arms}
	for i := range arms {
		d.Arms = append(d.Arms, Arm{Name: fmt.Sprint("arm-", i%4), Cell: Cell{"n": i / 4}, Config: config,
			Measures: Measures{Calls: 1000, Rate: 100, Latency: Histogram{P99: 5, HDR: strings.Repeat("A", 4000)}}})
	}
	for i := range n {
		d.ID, d.Started = fmt.Sprintf("run-%04d", i), start.Add(time.Duration(i)*time.Minute)
		if err := s.Save(context.Background(), d); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkThousandRuns measures List and Trend over 1,000 runs. Each must take less than 200 ms
// (docs/decisions/0022).
func BenchmarkThousandRuns(b *testing.B) {
	s, err := OpenStore(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.db.Exec("PRAGMA synchronous = OFF"); err != nil {
		b.Fatal(err)
	}
	saveRuns(b, s, 1000, 12)
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if rows, err := s.List(b.Context()); err != nil || len(rows) != 1000 {
				b.Fatal(len(rows), err)
			}
		}
	})
	b.Run("trend", func(b *testing.B) {
		for b.Loop() {
			if points, err := s.Trend(b.Context(), "channels", "p99"); err != nil || len(points) != 12_000 {
				b.Fatal(len(points), err)
			}
		}
	})
}

// A time limit would need an idle machine, so the test damages the documents instead.
func TestListsAndTrendsDoNotReadDocuments(t *testing.T) {
	s, ctx := openStore(t, t.TempDir()), context.Background()
	saveRuns(t, s, 3, 2)
	_, err := s.db.Exec("UPDATE runs SET header = 'not JSON', document = 'not JSON'")
	must(t, err)
	rows, err := s.List(ctx)
	must(t, err)
	points, err := s.Trend(ctx, "channels", "p99")
	must(t, err)
	if len(rows) != 3 || len(points) != 6 {
		t.Errorf("%d rows and %d points, want 3 and 6", len(rows), len(points))
	}
	var plan []string
	explained, err := s.db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+listRuns)
	must(t, err)
	defer explained.Close()
	for explained.Next() {
		var id, parent, unused int
		var step string
		must(t, explained.Scan(&id, &parent, &unused, &step))
		plan = append(plan, step)
	}
	must(t, explained.Err())
	if text, _ := json.Marshal(plan); !strings.Contains(string(text), "COVERING INDEX runs_listed") {
		t.Errorf("List does not use the covering index: %s", text)
	}
}
