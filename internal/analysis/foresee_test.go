package analysis

import (
	"testing"

	"rpclab/internal/result"
)

func TestAPlanTellsMoreWithMoreRounds(t *testing.T) {
	d := arms(t, 10.9, 9.4, 10.6, 9.2, 10.3)
	d.ID, d.Rounds = "earlier", 5
	d = Assemble(d)
	p := result.Plan{Arms: []string{"base", "other"}, Fewest: result.PlannedRun{Rounds: 5, Trials: 10}, Most: result.PlannedRun{Rounds: 10, Trials: 20}}
	p = Foresee(p, []result.Earlier{Earlier(d)})
	few, many := p.Fewest.Tells["latency_p50"], p.Most.Tells["latency_p50"]
	if v := p50(t, d); few < v.Power.Ratio80-1e-9 || few > v.Power.Ratio80+1e-9 || !(1 < many && many < few) {
		t.Errorf("5 rounds detect %g and 10 detect %g; the run of 5 rounds detected %g", few, many, v.Power.Ratio80)
	}
	p.RoundsForVerdict = 4
	p.Fewest.Rounds = 1
	if p = Foresee(p, []result.Earlier{Earlier(d)}); len(p.Fewest.Tells) > 0 || p.Most.Tells["latency_p50"] != many {
		t.Errorf("1 round of the 4 that a verdict needs detects %v, and 10 rounds %v; want nothing, and %g", p.Fewest.Tells, p.Most.Tells, many)
	}
	if len(p.From) != 1 || p.Fewest.TookMS == nil || p.Most.TookMS == nil {
		t.Errorf("the plan is %+v", p)
	}
	if p = Foresee(result.Plan{Arms: []string{"base"}}, nil); len(p.Most.Tells) > 0 || p.Most.TookMS != nil || p.Memory != nil {
		t.Errorf("without an earlier run the plan knows %+v", p)
	}
}
