package result

import (
	"context"
	"fmt"
	"path/filepath"
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
	points, err := s.Trend(ctx, TrendRuns{Experiment: "channels", Most: -1}, "rate")
	must(t, err)
	if len(points) != 2 || points[0].Run != "run-0" || points[0].Value != 100 || points[1].Value != 300 || !points[1].Quick ||
		points[0].Lost != 0 || points[1].Lost != 0.1 || points[0].Arm != "shared" || points[0].Cell != "load.burst=1000" {
		t.Errorf("Trend returned %+v, want the rates 100 and 300 of run-0 and run-2, which lost no call and a tenth of them", points)
	}
	if points, err := s.Trend(ctx, TrendRuns{Experiment: "channels", Most: -1}, "capacity"); err != nil || len(points) != 0 {
		t.Errorf("%+v, %v; no arm has a capacity", points, err)
	}
	if _, err := s.Trend(ctx, TrendRuns{Experiment: "channels", Most: -1}, "p99; DROP TABLE runs"); err == nil || !strings.Contains(err.Error(), "known names: p50, p90") {
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

// manyRuns are runs that stay fast (docs/decisions/0022).
const manyRuns = 10_000

// BenchmarkManyRuns measures what the page asks of a store of 10,000 runs.
func BenchmarkManyRuns(b *testing.B) {
	s, err := OpenStore(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.db.Exec("PRAGMA synchronous = OFF"); err != nil {
		b.Fatal(err)
	}
	saveRuns(b, s, manyRuns, 2)
	for name, do := range map[string]func() (int, error){
		"first page": func() (int, error) { _, n, err := s.Find(b.Context(), RunFilter{Limit: 100}); return n, err },
		"last page": func() (int, error) {
			_, n, err := s.Find(b.Context(), RunFilter{Limit: 100, Offset: manyRuns - 100})
			return n, err
		},
		"search": func() (int, error) {
			_, n, err := s.Find(b.Context(), RunFilter{Words: []string{"channels", "arm-1", "done"}, Limit: 100})
			return n, err
		},
		"last runs": func() (int, error) { all, err := s.LastRuns(b.Context(), 50); return all[0].Finished, err },
		"trend": func() (int, error) {
			points, err := s.Trend(b.Context(), TrendRuns{Experiment: "channels", Most: 200}, "p99")
			return len(points) * manyRuns / 400, err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n, err := do(); err != nil || n != manyRuns {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// A time limit would need an idle machine, so the test damages the documents and asks for the query plans instead.
func TestListsAndTrendsDoNotReadDocuments(t *testing.T) {
	s, ctx := openStore(t, t.TempDir()), context.Background()
	saveRuns(t, s, 5, 2)
	_, err := s.db.Exec("UPDATE runs SET header = 'not JSON', document = 'not JSON'")
	must(t, err)
	rows, total, err := s.Find(ctx, RunFilter{Words: []string{"CHANNELS", "arm-1", "done"}, Limit: 2, Offset: 1})
	must(t, err)
	if len(rows) != 2 || total != 5 || rows[0].ID != "run-0003" {
		t.Errorf("Find returned %+v of %d, want run-0003 and run-0002 of 5", rows, total)
	}
	last, err := s.LastRuns(ctx, 10)
	must(t, err)
	if len(last) != 1 || last[0].ID != "run-0004" || last[0].Finished != 5 || last[0].Experiment != "channels" {
		t.Errorf("LastRuns returned %+v, want run-0004 of 5", last)
	}
	points, err := s.Trend(ctx, TrendRuns{Experiment: "channels", Most: 3}, "p99")
	must(t, err)
	if len(points) != 6 || points[0].Run != "run-0002" {
		t.Errorf("%d points from run %s on, want 6 from run-0002 on", len(points), points[0].Run)
	}
	if before, err := s.Before(ctx, "run-0003"); err != nil || before != "run-0002" {
		t.Errorf("the run before run-0003 is %q, %v; want run-0002", before, err)
	}
	if before, err := s.Before(ctx, "run-0000"); err != nil || before != "" {
		t.Errorf("the run before run-0000 is %q, %v; want none", before, err)
	}
	for name, query := range map[string]string{"list": fmt.Sprintf(listRuns, searchText+" <> ''"), "count": fmt.Sprintf(countRuns, searchText+" <> ''"), "last runs": lastRuns} {
		if plan := queryPlan(t, s, query); !strings.Contains(plan, "COVERING INDEX runs_listed") {
			t.Errorf("%s does not use the covering index: %s", name, plan)
		}
	}
}

// queryPlan returns the steps of a query.
func queryPlan(t *testing.T, s *Store, query string) (steps string) {
	t.Helper()
	explained, err := s.db.Query("EXPLAIN QUERY PLAN "+query, "[]", 1, 0)
	must(t, err)
	defer explained.Close()
	for explained.Next() {
		var id, parent, unused int
		var step string
		must(t, explained.Scan(&id, &parent, &unused, &step))
		steps += step + "\n"
	}
	must(t, explained.Err())
	return steps
}

func TestASearchFindsEachStatus(t *testing.T) {
	s, ctx := openStore(t, filepath.Join(t.TempDir(), "[lab]*")), context.Background() // no pattern
	for i, id := range []string{"runs", "interrupted", "stopped", "failed", "accepted"} {
		d := sampleDocument(t)
		d.ID, d.Started, d.Quick, d.Partial = fmt.Sprint("run-", i), start, i == 2, i < 3
		must(t, s.Begin(ctx, d))
		switch id {
		case "interrupted":
			s.mu.Lock()
			s.unlock(d.ID)
			s.mu.Unlock()
		case "failed", "accepted":
			d.Conditions = Conditions(id)
			fallthrough
		case "stopped":
			must(t, s.Finish(ctx, d))
		}
	}
	for word, want := range map[string]string{"running": "run-0", "Interrupted": "run-1", "partial": "run-2", "QUICK": "run-2", "failed": "run-3", "done": "run-4"} {
		found, total, err := s.Find(ctx, RunFilter{Words: []string{word}, Limit: -1})
		must(t, err)
		var ids []string
		for _, r := range found {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); got != want || total != len(ids) {
			t.Errorf("%s finds %q of %d, want %q", word, got, total, want)
		}
	}
}
