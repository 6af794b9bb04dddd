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
