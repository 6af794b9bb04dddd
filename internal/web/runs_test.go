package web

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/result"
)

// storeRuns stores runs, a minute apart, each with trials of two arms.
func (s *testServer) storeRuns(t *testing.T, experiments ...string) (ids []string) {
	t.Helper()
	for i, name := range experiments {
		at := time.Date(2026, 11, 20, 10, i, 0, 0, time.UTC)
		d := result.Document{Schema: result.Schema, ID: fmt.Sprintf("run-%d", i), Experiment: name, Question: "?", Cluster: "local", Started: at, Finished: &at,
			Rounds: 1, TrialCount: 2, Baseline: "shared"}
		for _, arm := range []string{"shared", "new-channel"} {
			trial := result.Trial{Round: 1, Started: at, Measures: result.Measures{Calls: 10, Rate: 100, ElapsedMS: 100}}
			d.Arms = append(d.Arms, result.Arm{Name: arm, Route: "clusterip", Channel: arm, Trials: []result.Trial{trial}})
		}
		if err := s.store.Save(t.Context(), analysis.Assemble(d)); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID)
	}
	return ids
}

func TestTheListOfRunsCanBeSearched(t *testing.T) {
	s := serve(t, nil)
	s.storeRuns(t, "channels", "churn", "channels")
	for search, want := range map[string]string{
		"": "run-2 run-1 run-0", "channels": "run-2 run-0", "CHURN": "run-1", "channels run-0": "run-0",
		"new-channel": "run-2 run-1 run-0", "nothing": "", "done": "run-2 run-1 run-0", "limit=1": "run-2", "limit=1&offset=1": "run-1",
	} {
		query := "search=" + strings.ReplaceAll(search, " ", "+")
		if strings.HasPrefix(search, "limit") {
			query = search
		}
		var list struct{ Runs []runSummary }
		if err := json.Unmarshal([]byte(s.get(t, "/api/v1/runs?"+query)), &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range list.Runs {
			got = append(got, r.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the search for %q found %v, want %s", search, got, want)
		}
	}
}

func TestResponsesHaveTheDescribedContent(t *testing.T) {
	s := serve(t, nil)
	ids := s.storeRuns(t, "channels", "channels", "churn")
	for path, want := range map[string]string{
		"/api/v1/openapi.json":                          `"openapi":"3.0.3"`,
		"/api/v1/experiments":                           `"arms":["one","two"]`,
		"/api/v1/runs":                                  `"total":3`,
		"/api/v1/runs/" + ids[0]:                        `"schema": "rpclab.result/v1"`,
		"/api/v1/runs/latest":                           `"experiment": "churn"`,
		"/api/v1/trend?experiment=channels&metric=rate": `"value":100`,
		"/api/v1/trend?experiment=nothing&metric=p99":   `"points":[]`,
		"/api/v1/compare?run=run-0&run=run-1":           `"rpclab.comparison/v1"`,
		"/api/v1/compare?run=run-0&run=run-1&run=run-2": `"comparisons":`,
		"/api/v1/live":                                  `"phase":"idle"`,
	} {
		if got := s.get(t, path); !strings.Contains(got, want) {
			t.Errorf("%s returned %.300s, want %s in it", path, got, want)
		}
	}
	for path, want := range map[string]int{
		"/api/v1/nothing":                             404,
		"/api/v1/runs?limit=many":                     400,
		"/api/v1/runs?limit=1001":                     400,
		"/api/v1/runs/nothing":                        404,
		"/api/v1/trend?experiment=channels&metric=id": 400,
		"/api/v1/compare?run=run-0":                   400,
		"/api/v1/compare?run=run-0&run=nothing":       404,
		"/nothing":                                    404,
		"/runs/nothing/report":                        404,
	} {
		if status, text := s.request(t, http.MethodGet, path, "", nil); status != want || strings.TrimSpace(text) == "" {
			t.Errorf("%s has status %d %q, want %d and a message", path, status, text, want)
		}
	}
	if status, _ := s.request(t, http.MethodDelete, "/api/v1/runs", "", nil); status != 405 && status != 404 {
		t.Errorf("DELETE has status %d, want 405 or 404", status)
	}
}

// A document that is damaged, or that a later rpclab wrote, has an error; other documents stay
// readable.
func TestADocumentThatCannotBeReadHasAnErrorWithTheReason(t *testing.T) {
	dir := t.TempDir()
	store, err := result.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil)
	s.Store, s.store, store = store, store, s.store
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s.storeRuns(t, "damaged", "newer", "cut", "whole")
	db, err := sql.Open("sqlite", filepath.Join(dir, "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	for id, document := range map[string]string{
		"run-0": `<html>`, "run-1": `{"schema":"rpclab.result/v2","id":"run-1"}`, "run-2": `{"schema":"rpclab.result/v1","arms":[{"trials":7}]}`,
	} {
		if _, err := db.Exec("UPDATE runs SET document = ? WHERE id = ?", document, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"run-0": "damaged", "run-1": "written by a newer rpclab; update rpclab", "run-2": "damaged"} {
		for _, path := range []string{"/api/v1/runs/" + id, "/runs/" + id + "/report", "/api/v1/compare?run=run-3&run=" + id} {
			status, text := s.request(t, http.MethodGet, path, "", nil)
			if status != http.StatusUnprocessableEntity || !strings.Contains(text, want) {
				t.Errorf("%s: status %d %.200s, want 422 and %q", path, status, text, want)
			}
		}
	}
	if text := s.get(t, "/api/v1/runs"); !strings.Contains(text, `"total":4`) {
		t.Errorf("the list of runs is %s, want a total of 4", text)
	}
	if text := s.get(t, "/runs/run-3/report"); !strings.Contains(text, "<!doctype html>") {
		t.Errorf("the report of a readable run is %.200s, want an HTML page", text)
	}
}

func TestAThousandRunsAreListedWithinSeconds(t *testing.T) {
	s := serve(t, nil)
	for i := range 1000 {
		d := result.Document{Schema: result.Schema, ID: fmt.Sprintf("run-%04d", i), Experiment: "channels", Cluster: "local", Started: time.Unix(int64(i), 0),
			Arms: []result.Arm{{Name: "shared", Measures: result.Measures{Calls: 1, Rate: float64(i)}}, {Name: "new", Measures: result.Measures{Calls: 1, Rate: 1}}}}
		if i%100 > 0 {
			d.Arms = d.Arms[:1]
		}
		if err := s.store.Begin(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := s.store.Finish(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	const limit = 5 * time.Second // BenchmarkThousandRuns in internal/result measures the usual time
	for path, want := range map[string]int{"/api/v1/runs?limit=1000": 1000, "/api/v1/trend?experiment=channels&metric=rate": 999 + 10} {
		began := time.Now()
		if got := strings.Count(s.get(t, path), `"started"`); got < want {
			t.Errorf("%s has %d runs, want %d", path, got, want)
		}
		if took := time.Since(began); took > limit {
			t.Errorf("%s took %v, want at most %v", path, took, limit)
		}
	}
}
