package analysis

import (
	"reflect"
	"testing"
	"time"

	"rpclab/internal/result"
)

func p50(t *testing.T, d result.Document) result.Verdict {
	t.Helper()
	for _, v := range d.Verdicts {
		if v.Metric == "latency_p50" {
			return v
		}
	}
	t.Fatal("there is no verdict on p50")
	return result.Verdict{}
}

// The run takes 10 s. Its noise is about 8 % from round to round.
func TestAnUndecidedRunSaysHowMuchLongerItMustBe(t *testing.T) {
	d := arms(t, 10.9, 9.4, 10.6, 9.2, 10.3)
	d.Rounds = 5
	began := time.Unix(1000, 0)
	finished := began.Add(10 * time.Second)
	d.Finished = &finished
	for i := range d.Arms {
		for j := range d.Arms[i].Trials {
			d.Arms[i].Trials[j].Started = began.Add(time.Duration(2*j+i) * time.Second)
		}
	}
	interrupted := d
	interrupted.Rounds = 24
	d = Assemble(d)
	v := p50(t, d)
	if l, of := Assemble(interrupted).Longer, d.Longer; len(l) == 0 || len(of) == 0 || !reflect.DeepEqual(l[0], of[0]) {
		t.Errorf("a run of 24 rounds that ended after five says %+v, and one of five %+v", l, of)
	}
	if v.Power == nil || v.Power.Longer == nil {
		t.Fatalf("p50 is %s, and its power %+v", v.Decision, v.Power)
	}
	if p := v.Power; !(1 < p.Ratio50 && p.Ratio50 < p.Ratio80 && p.Ratio80 < p.Ratio95) || p.Freedom != 4 {
		t.Errorf("the power is %+v", p)
	}
	l := v.Power.Longer
	if l.Difference != 0.1 || l.Rounds <= 5 || !(l.RoundsCI[0] <= l.Rounds && l.Rounds < l.RoundsCI[1]) {
		t.Errorf("a longer run is %+v, want more than 5 rounds for 10 %%", l)
	}
	if want := 2000 * float64(l.Rounds-5); l.MoreMS != want {
		t.Errorf("it takes %g ms more, want %g: 2 s a round", l.MoreMS, want)
	}
	if len(d.Longer) == 0 || d.Longer[0].Metric != "latency_p50" || d.Longer[0].Rounds != l.Rounds {
		t.Errorf("the document says %+v", d.Longer)
	}
	late := v
	late.Power = &result.Power{Error: v.Power.Error, Freedom: v.Power.Freedom, Raised: 0.02}
	if longer := longerRun(late, 0.1, d, d.Lasted()); longer == nil || longer.Rounds <= l.Rounds {
		t.Errorf("with late calls that can have changed the ratio by 2 %% a longer run is %+v, want more than %d rounds", longer, l.Rounds)
	}
}

func TestADecidedRunNeedsNoMoreTime(t *testing.T) {
	d := Assemble(arms(t, 20, 20.1, 19.9, 20))
	if v := p50(t, d); v.Power == nil || v.Power.Longer != nil || len(d.Longer) > 0 {
		t.Errorf("%s, %+v, %+v", v.Decision, v.Power, d.Longer)
	}
	if v := p50(t, Assemble(arms(t, 20, 20, 20))); v.Power != nil {
		t.Errorf("three rounds have the power %+v, want none", v.Power)
	}
}

func TestTheNextDifferenceIsOverTheMarginAndNotYetTold(t *testing.T) {
	for _, c := range []struct{ detected, margin, want float64 }{
		{1.4, 0, 0.1}, {1.4, 0.03, 0.1}, {1.08, 0.03, 0.05}, {1.04, 0.03, 0}, {1.04, 0.01, 0.02}, {1.4, 0.1, 0.2}, {1.15, 0.1, 0}, {3, 0.5, 0},
	} {
		got, ok := nextDifference(c.detected, c.margin)
		if ok != (c.want > 0) || ok && got != c.want {
			t.Errorf("detected %g, margin %g: %g (%t), want %g", c.detected, c.margin, got, ok, c.want)
		}
	}
}

// A longer run has fixed rounds (--rounds), so it uses the whole error, of which the looks of this run left a half. A run
// with a time limit (--for) has looks.
func TestALongerRunHasTheErrorOfItsOwnLooks(t *testing.T) {
	longer := func(looks []int, limit int64) result.Longer {
		d := arms(t, 10.9, 9.4, 10.6, 9.2, 10.3)
		d.Rounds, d.Looks, d.TimeLimitMS = 5, looks, limit
		d = Assemble(d)
		if v := p50(t, d); v.Power != nil && v.Power.Longer != nil {
			return *v.Power.Longer
		}
		t.Fatalf("p50 is %+v, want it undecided with a longer run", p50(t, d))
		return result.Longer{}
	}
	fixed, decided, limited := longer(nil, 0), longer([]int{5, 10}, 0), longer([]int{5, 10}, 60_000)
	if decided.Rounds != fixed.Rounds || limited.Rounds <= fixed.Rounds {
		t.Errorf("%d rounds after a run of fixed rounds, %d after one with looks and %d after one with --for; want as many, and more", fixed.Rounds, decided.Rounds, limited.Rounds)
	}
}
