package result

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestAcceptChangesTheOutcomeAndNothingElse accepts a document that a later rpclab wrote.
func TestAcceptChangesTheOutcomeAndNothingElse(t *testing.T) {
	s := openStore(t, t.TempDir())
	statuses := func() (all []string) {
		rows, err := s.List(t.Context())
		must(t, err)
		for _, r := range rows {
			all = append(all, r.ID+" "+string(r.Status))
		}
		return all
	}
	for i, outcome := range []Conditions{ConditionsFailed, ConditionsPassed, ""} {
		d := sampleDocument(t)
		d.ID, d.Started, d.Conditions = "run-"+string(outcome), start.Add(-time.Duration(i)*time.Minute), outcome
		must(t, s.Save(t.Context(), d))
	}
	if got, want := strings.Join(statuses(), ", "), "run-failed failed, run-passed done, run- done"; got != want {
		t.Errorf("the runs are %s, want %s", got, want)
	}
	_, err := s.db.Exec(`UPDATE runs SET document = json_set(document, '$.later', 18446744073709551615)`)
	must(t, err)
	document := func() (text string) {
		must(t, s.db.QueryRow("SELECT document FROM runs WHERE id = 'run-failed'").Scan(&text))
		return text
	}
	before := document()
	for range 2 { // again, it changes nothing
		if id, err := s.Accept(t.Context(), "latest"); err != nil || id != "run-failed" {
			t.Errorf("accepted %q, %v", id, err)
		}
	}
	if got, want := strings.Join(statuses(), ", "), "run-failed done, run-passed done, run- done"; got != want {
		t.Errorf("the runs are %s, want %s", got, want)
	}
	d, complete, err := s.Get(t.Context(), "run-failed")
	if err != nil || !complete || d.Conditions != ConditionsAccepted {
		t.Errorf("the document says %q (complete: %v, %v)", d.Conditions, complete, err)
	}
	sameFields(t, []byte(strings.Replace(before, `"failed"`, `"accepted"`, 1)), document())
	for ref, want := range map[string]error{"run-passed": ErrNotFailed, "run-": ErrNotFailed, "none": ErrUnknownRun} {
		if _, err := s.Accept(t.Context(), ref); !errors.Is(err, want) {
			t.Errorf("accept %s: %v, want %v", ref, err, want)
		}
	}
}
