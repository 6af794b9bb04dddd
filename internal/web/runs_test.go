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
	slow := result.Document{Schema: result.Schema, ID: "slow", Experiment: "orders", Conditions: result.ConditionsFailed, Arms: []result.Arm{{Name: "shared"}}}
	if err := s.store.Save(t.Context(), slow); err != nil {
		t.Fatal(err)
	}
	for search, want := range map[string]string{
		"": "run-2 run-1 run-0 slow", "channels": "run-2 run-0", "CHURN": "run-1", "channels run-0": "run-0",
		"new-channel": "run-2 run-1 run-0", "nothing": "", "failed": "slow", "done": "run-2 run-1 run-0", "limit=1": "run-2", "limit=1&offset=1": "run-1",
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
		"/api/v1/openapi.json":                                          `"openapi":"3.0.3"`,
		"/api/v1/experiments":                                           `"arms":["one","two"]`,
		"/api/v1/runs":                                                  `"total":3`,
		"/api/v1/runs/" + ids[0]:                                        `"schema": "rpclab.result/v1"`,
		"/api/v1/runs/latest":                                           `"experiment": "churn"`,
		"/api/v1/trend?experiment=channels&metric=rate":                 `"value":100`,
		"/api/v1/trend?experiment=nothing&metric=p99":                   `"points":[]`,
		"/api/v1/compare?run=run-0&run=run-1":                           `"rpclab.comparison/v1"`,
		"/api/v1/compare?run=run-0&run=run-1&run=run-2":                 `"comparisons":`,
		"/api/v1/runs/" + ids[0] + "/view":                              `"rpclab.view/v1"`,
		"/runs/" + ids[1] + "/report":                                   `<a href="/compare?run=` + ids[0] + `&amp;run=` + ids[1] + `">Compare with the run before</a>`,
		"/api/v1/trend?experiment=channels&metric=rate&runs=1&quick=no": `"changes":[]`,
		"/api/v1/live":                                                  `"phase":"idle"`,
	} {
		if got := s.get(t, path); !strings.Contains(got, want) {
			t.Errorf("%s returned %.300s, want %s in it", path, got, want)
		}
	}
	for path, want := range map[string]int{
		"/api/v1/nothing":                                      404,
		"/api/v1/runs?limit=many":                              400,
		"/api/v1/runs?limit=1001":                              400,
		"/api/v1/runs/nothing":                                 404,
		"/api/v1/runs/nothing/view":                            404,
		"/api/v1/trend?experiment=channels&metric=p99&runs=0":  400,
		"/api/v1/trend?experiment=channels&metric=p99&quick=2": 400,
		"/api/v1/trend?experiment=channels&metric=id":          400,
		"/api/v1/compare?run=run-0":                            400,
		"/api/v1/compare?run=run-0&run=nothing":                404,
		"/nothing":                                             404,
		"/runs/nothing/report":                                 404,
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

// What a page asks of a store of 10,000 runs has a bounded size, and reads no documents but those of the last answers,
// once. A time limit would need an idle machine; BenchmarkManyRuns in internal/result measures the time.
func TestTenThousandRunsAreBoundedWork(t *testing.T) {
	const runs = 10_000
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
	s.storeRuns(t, "churn", "channels") // run-1 is the newest
	db, err := sql.Open("sqlite", filepath.Join(dir, "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?1)
		INSERT INTO runs (id, started, header, document, partial, experiment, planned, quick, arms) SELECT printf('old-%05d', i), started - i, 'damaged', 'damaged', 0, experiment, planned, quick, arms FROM runs, n WHERE id = 'run-1'`,
		`INSERT INTO figures SELECT r.id, f.seq, f.arm, f.cell, ` + strings.Join(result.Figures(), ", ") + ` FROM runs r, figures f WHERE r.id LIKE 'old-%' AND f.run = 'run-1' AND ?1 > 0`,
	} {
		if _, err := db.Exec(statement, runs); err != nil {
			t.Fatal(err)
		}
	}
	for path, most := range map[string]int{
		"/api/v1/runs": 32 << 10, "/api/v1/runs?search=channels+old-": 32 << 10, "/api/v1/runs?offset=9900": 32 << 10,
		"/api/v1/overview": 2 << 10, "/api/v1/trend?experiment=channels&metric=rate": 64 << 10,
	} {
		text := s.get(t, path)
		t.Logf("%s: %d bytes", path, len(text))
		if len(text) > most || strings.Contains(text, "damaged") {
			t.Errorf("%s has %d bytes, want at most %d, and no damaged document: %.300s", path, len(text), most, text)
		}
	}
	if text := s.get(t, "/api/v1/runs?search=old-&limit=1"); !strings.Contains(text, `"total":10000`) {
		t.Errorf("a search finds %s, want 10000 runs", text)
	}
	before := s.get(t, "/api/v1/overview")
	if _, err := db.Exec("UPDATE runs SET document = 'damaged'"); err != nil {
		t.Fatal(err)
	}
	if after := s.get(t, "/api/v1/overview"); after != before {
		t.Errorf("the overview reads documents again: %s, want %s", after, before)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheOverviewHasTheLastAnswerOfEachExperiment(t *testing.T) {
	s := serve(t, nil)
	ids := s.storeRuns(t, "channels", "churn", "channels")
	var found struct{ Experiments []experimentOverview }
	if err := json.Unmarshal([]byte(s.get(t, "/api/v1/overview")), &found); err != nil {
		t.Fatal(err)
	}
	all := found.Experiments
	if len(all) != 3 || all[0].Name != "channels" || all[0].Last.ID != ids[2] || all[0].Finished != 2 || all[0].Offered || !strings.HasPrefix(all[0].Last.Answer, "No verdict: ") ||
		all[1].Name != "churn" || all[2].Name != "small" || all[2].Last != nil || !all[2].Offered {
		t.Errorf("the overview is %+v, want channels with %s, churn, and small, which has no run", all, ids[2])
	}
}

// A run that failed its gate has the same status as in the list of runs, until the user accepts it.
func TestTheOverviewHasTheStatusOfTheLastRun(t *testing.T) {
	s := serve(t, nil)
	d, _, err := s.store.Get(t.Context(), s.storeRuns(t, "channels")[0])
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want result.Status) {
		t.Helper()
		if text := s.get(t, "/api/v1/overview"); !strings.Contains(text, `"status":"`+string(want)+`"`) {
			t.Errorf("the overview is %s, want the status %s", text, want)
		}
	}
	expect(result.Done)
	d.ID, d.Started, d.Conditions = "slow", d.Started.Add(time.Minute), result.ConditionsFailed
	if err := s.store.Save(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	expect(result.Failed)
	if _, err := s.store.Accept(t.Context(), "slow"); err != nil {
		t.Fatal(err)
	}
	expect(result.Done)
	d.ID, d.Started, d.Partial = "stopped", d.Started.Add(time.Minute), true
	if err := s.store.Save(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	expect(result.Partial)
}

func TestATrendShowsWhereTheLevelChanged(t *testing.T) {
	var points []result.TrendPoint
	for i := range 24 {
		for _, arm := range []string{"steady", "slower"} {
			p := result.TrendPoint{Run: fmt.Sprint("run-", i), Arm: arm, Value: 5 + float64(i%3)/100}
			if arm == "slower" && i >= 14 {
				p.Value *= 1.2
			}
			points = append(points, p)
		}
	}
	got := changesIn(points)
	if len(got) != 1 || got[0].Arm != "slower" || got[0].Last != "run-13" || got[0].Run != "run-14" || got[0].Before != 5.01 || got[0].After < 6 || got[0].After > 6.03 {
		t.Errorf("the changes are %+v, want one of the arm slower, from 5.01 to 6.01 with run-14", got)
	}
}

// failRun stores a run of which a gate failed.
func (s *testServer) failRun(t *testing.T, id string) {
	t.Helper()
	d := result.Document{Schema: result.Schema, ID: id, Experiment: "orders", Cluster: "local", Conditions: result.ConditionsFailed, Arms: []result.Arm{{Name: "shared"}},
		Gates: &result.Gates{Against: "before", Undecided: "fail", Results: []result.GateResult{{Gate: "p99 ratio < 1.1", Arm: "shared", Ratio: 1.3, CI: [2]float64{1.2, 1.4}, Level: 0.95, Outcome: "failed"}}}}
	if err := s.store.Save(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func (s *testServer) conditions(t *testing.T, id string) result.Conditions {
	t.Helper()
	d, _, err := s.store.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d.Conditions
}

func TestARunThatFailedIsAcceptedFromItsReport(t *testing.T) {
	s := serve(t, guardedByToken)
	bearer := header("Authorization", "Bearer "+secret)
	s.failRun(t, "slow")
	s.failRun(t, "slower")
	passed := s.storeRuns(t, "channels")[0]
	const form = `<form class="accept" method="post" action="/runs/slow/accept">`
	_, text := s.request(t, http.MethodGet, "/runs/slow/report", "", bearer)
	if _, body, _ := strings.Cut(text, "<body>"); !strings.Contains(body, form) || !strings.Contains(text, "form-action &#39;self&#39;") || !strings.Contains(text, "Gate failed: <code>p99 ratio &lt; 1.1</code>, the ratio is 1.30 (1.20–1.40).") {
		t.Errorf("the report of a failed run lacks its gate or the form that accepts it: %.2000s", body)
	}
	for name, c := range map[string]struct {
		path string
		from []string
		want int
	}{
		"without the token":  {"/runs/slow/accept", nil, http.StatusUnauthorized},
		"an API without it":  {"/api/v1/runs/slow/accept", nil, http.StatusUnauthorized},
		"another site":       {"/runs/slow/accept", []string{"Authorization", "Bearer " + secret, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"another site's API": {"/api/v1/runs/slow/accept", []string{"Authorization", "Bearer " + secret, "Origin", "https://evil.example"}, http.StatusForbidden},
		"an unknown run":     {"/runs/none/accept", []string{"Authorization", "Bearer " + secret}, http.StatusNotFound},
		"a run that passed":  {"/api/v1/runs/" + passed + "/accept", []string{"Authorization", "Bearer " + secret}, http.StatusConflict},
	} {
		if got, text := s.request(t, http.MethodPost, c.path, "", header(c.from...)); got != c.want || s.conditions(t, "slow") != result.ConditionsFailed {
			t.Errorf("%s: status %d %.300s, want %d and no accepted run", name, got, text, c.want)
		}
	}
	if got, _ := s.request(t, http.MethodPost, "/runs/slow/accept", "", bearer); got != http.StatusSeeOther || s.conditions(t, "slow") != result.ConditionsAccepted {
		t.Errorf("the form has status %d, and the conditions of the run are %q, want 303 and accepted", got, s.conditions(t, "slow"))
	}
	if got, text := s.request(t, http.MethodPost, "/api/v1/runs/slower/accept", "", bearer); got != http.StatusOK || !strings.Contains(text, `"id":"slower"`) || s.conditions(t, "slower") != result.ConditionsAccepted {
		t.Errorf("the API has status %d %s, and the conditions of the run are %q", got, text, s.conditions(t, "slower"))
	}
	for _, id := range []string{"slow", passed} {
		if _, text := s.request(t, http.MethodGet, "/runs/"+id+"/report", "", bearer); strings.Contains(text, `class="accept"`) || !strings.Contains(text, "form-action &#39;none&#39;") {
			t.Errorf("the report of %s, which needs no acceptance, has the form", id)
		}
	}
}
