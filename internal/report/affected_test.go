package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

func TestThePolicyOfAnArmIsThatOfItsCell(t *testing.T) {
	d := result.Document{}
	for i, policy := range []string{"round_robin", "least_request"} {
		cell := result.Cell{"policy": policy}
		d.Arms = append(d.Arms, result.Arm{Name: "a", Policy: policy, Cell: cell})
		d.Events = append(d.Events, result.Event{Arm: "a", Cell: cell, Round: 1, What: "slow 1 times 10", Action: result.ActionSlow, Count: 1,
			Affected: []string{"b0"}, Ready: 2 + i, Answered: 100, AnsweredByAffected: 50})
	}
	var text strings.Builder
	p := &page{}
	events(p, d)
	for _, b := range p.blocks {
		text.WriteString(b.text + "\n")
	}
	got := text.String()
	for _, want := range []string{"a at policy = round_robin: round robin gives", "a at policy = least_request: least request takes", "that the affected backends answered. "} {
		if !strings.Contains(got, want) {
			t.Errorf("the report does not contain %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "would be fair") { // 50 % in one cell, 33 % in the other
		t.Errorf("the report names one fair share for both cells:\n%s", got)
	}
}

// An arm that continues to call a slow or unreachable backend loses no call before its deadline. That is
// not an arm that was not affected.
func TestAnArmThatDoesNotAvoidABackendIsAffected(t *testing.T) {
	for name, c := range map[string]struct {
		event result.Event
		want  string
	}{
		"it answers slowly":               {result.Event{CalledBefore: new(true), AnsweredByAffected: 50, Late: 50}, never},
		"it does not answer":              {result.Event{CalledBefore: new(true)}, never},
		"the arm has not called it":       {result.Event{CalledBefore: new(false)}, none},
		"an older result, it answers":     {result.Event{AnsweredByAffected: 50}, never},
		"an older result, it answers not": {result.Event{}, none},
	} {
		event := c.event
		event.Arm, event.Round, event.What, event.Action, event.Ready, event.Affected, event.Answered = "a", 1, "cut 1", result.ActionCut, 3, []string{"b0"}, 100
		avoiding := event
		avoiding.Arm, avoiding.Took.Avoided = "b", new(100.0)
		all := recoveries(result.Document{Arms: []result.Arm{{Name: "a"}, {Name: "b"}}, Events: []result.Event{event, avoiding}})
		if len(all) != 1 || all[0].text("a") != c.want {
			t.Errorf("%s: got %+v, want %q for a", name, all, c.want)
		}
	}
}
