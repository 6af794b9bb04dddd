package analysis

import (
	"math"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

func TestAPlanTellsMoreWithMoreRounds(t *testing.T) {
	d := arms(t, 10.9, 9.4, 10.6, 9.2, 10.3)
	d.ID, d.Rounds = "earlier", 5
	d = Assemble(d)
	p := result.Plan{Arms: []string{"base", "other"}, Loads: []result.LoadTime{{Arm: "base", Trials: 1}, {Arm: "other", Trials: 1}}, Fewest: result.PlannedRun{Rounds: 5, Trials: 10}, Most: result.PlannedRun{Rounds: 10, Trials: 20}}
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

// A pilot has one pair and one look. The pairs, cells and looks of the planned run share its error, so it detects less.
func TestAPlanSharesTheErrorAsItsRunWill(t *testing.T) {
	pilot := result.Earlier{Rounds: 4, Noise: []result.Noise{{Metric: "latency_p50", A: "other", B: "base", Error: 0.04, Freedom: 6}}}
	for name, c := range map[string]struct {
		pairs  int
		looks  []int
		margin float64
		few    float64 // the ratio that 4 rounds detect
		many   float64 // that 12 rounds detect
	}{
		"one pair":            {1, nil, 0, 1.144, 1.071},
		"20 pairs":            {20, nil, 0, 1.282, 1.108},
		"20 pairs, two looks": {20, []int{4, 12}, 0, 1.326, 1.116},
		"a large margin":      {1, nil, 0.5, 1.551, 1.530},
	} {
		p := result.Plan{Arms: []string{"base", "other"}, Pairs: c.pairs, Looks: c.looks, Margin: c.margin, Fewest: result.PlannedRun{Rounds: 4}, Most: result.PlannedRun{Rounds: 12}}
		p = Foresee(p, []result.Earlier{pilot})
		few, many := p.Fewest.Tells["latency_p50"], p.Most.Tells["latency_p50"]
		if math.Abs(few-c.few) > 0.001 || math.Abs(many-c.many) > 0.001 {
			t.Errorf("%s: 4 rounds detect %.4f and 12 detect %.4f, want %g and %g", name, few, many, c.few, c.many)
		}
	}
	late := result.Earlier{Rounds: 4, Noise: []result.Noise{{Metric: "latency_p50", A: "other", B: "base", Error: 0.04, Freedom: 6, Raised: 0.02}}}
	p := result.Plan{Arms: []string{"base", "other"}, Pairs: 1, Fewest: result.PlannedRun{Rounds: 4}, Most: result.PlannedRun{Rounds: 4}}
	if got, want := Foresee(p, []result.Earlier{late}).Most.Tells["latency_p50"], 1.144*math.Exp(0.02); math.Abs(got-want) > 0.001 {
		t.Errorf("late calls that can have changed the ratio by 2 %%: 4 rounds detect %.4f, want %.4f", got, want)
	}
	d := arms(t, 10.9, 9.4, 10.6, 9.2, 10.3)
	d.Arms = append(d.Arms, d.Arms[0], d.Arms[1])
	d.Arms[2].Name, d.Arms[3].Name, d.Arms[3].Control = "third", "other-again", "other"
	for _, v := range Assemble(d).Verdicts {
		if want := 1 - 0.05/float64(Pairs(d)); v.Kind.AnswersQuestion() && !v.Secondary && math.Abs(v.Level-want) > 1e-9 {
			t.Errorf("the run compares %s with %s at the level %g, and a plan expects %g", v.A, v.B, v.Level, want)
		}
	}
}

// No noise is needed to know what ranks detect. A plan of arms in turns does not know it, because their rounds may share
// something.
func TestAPlanSaysWhatRanksDetect(t *testing.T) {
	for _, design := range []string{"isolated", "interleaved"} {
		p := result.Plan{Design: design, ByRank: []string{"failed"}, Pairs: 10, Looks: []int{6, 12}, Fewest: result.PlannedRun{Rounds: 6}, Most: result.PlannedRun{Rounds: 12}}
		p = Foresee(p, nil)
		few, many := 1.0, verdict.RankShare(12, verdict.Options{Family: 10, Share: 0.5})
		if design != "isolated" {
			few, many = 0, 0
		}
		if p.Fewest.InOrder != few || p.Most.InOrder != many {
			t.Errorf("%s: 6 rounds need %g of the pairs in the same order and 12 rounds %g, want %g and %g", design, p.Fewest.InOrder, p.Most.InOrder, few, many)
		}
	}
	if p := Foresee(result.Plan{Pairs: 1, Most: result.PlannedRun{Rounds: 12}}, nil); p.Most.InOrder != 0 {
		t.Errorf("a plan without metrics that are compared by rank has a share of %g", p.Most.InOrder)
	}
}

// The earlier run had 10 s for starts and pauses, and bursts of 100 calls which took 20 ms over their delay of 100 ms.
func TestAPlanSaysFromWhatToWhatItTakes(t *testing.T) {
	burst := func(arm string, delay, calls, mean float64, trials int) result.LoadTime {
		return result.LoadTime{Arm: arm, LeastMS: delay, Calls: calls, Turns: 1, MeanMS: mean, Trials: trials}
	}
	earlier := result.Earlier{Trials: 40, Starts: 2, TookMS: 14.8e3, RestMS: 10e3, Loads: []result.LoadTime{
		burst("base", 100, 100, 120, 20), burst("other", 100, 100, 120, 20),
	}}
	same := []result.LoadTime{burst("base", 100, 100, 0, 1), burst("other", 100, 100, 0, 1)}
	for name, c := range map[string]struct {
		design string
		loads  []result.LoadTime
		limit  int64
		starts int // of the earlier run
		few    [2]float64
		many   [2]float64
		rounds int // at most
	}{
		"the same run, and twice its rounds": {"interleaved", same, 0, 2,
			[2]float64{14.8e3, 14.8e3}, [2]float64{19.6e3, 29.6e3}, 40},
		"isolated arms start again": {"isolated", same, 0, 40,
			[2]float64{14.8e3, 14.8e3}, [2]float64{29.6e3, 29.6e3}, 40},
		"larger bursts": {"isolated", []result.LoadTime{burst("base", 500, 1000, 0, 1), burst("other", 500, 1000, 0, 1)}, 0, 40,
			[2]float64{30.8e3, 38e3}, [2]float64{61.6e3, 76e3}, 40},
		"an arm that was not measured": {"isolated", []result.LoadTime{burst("base", 100, 100, 0, 1), burst("third", 100, 100, 0, 1)}, 0, 40,
			[2]float64{14.8e3, 14.8e3}, [2]float64{29.6e3, 29.6e3}, 40},
		"a time limit": {"isolated", same, 20_000, 40,
			[2]float64{14.8e3, 14.8e3}, [2]float64{19.98e3, 19.98e3}, 27},
		"side by side": {"side-by-side", same, 0, 2,
			[2]float64{12.4e3, 12.4e3}, [2]float64{14.8e3, 24.8e3}, 40},
	} {
		earlier.Starts = c.starts
		p := result.Plan{Arms: []string{"base", "other"}, Design: c.design, Loads: c.loads, TimeLimitMS: c.limit, Scaled: true,
			Fewest: result.PlannedRun{Rounds: 20, Trials: 40}, Most: result.PlannedRun{Rounds: 40, Trials: 80}}
		p = Foresee(p, []result.Earlier{earlier})
		if few, many := p.Fewest.TookMS, p.Most.TookMS; few == nil || many == nil || *few != c.few || *many != c.many || p.Most.Rounds != c.rounds {
			t.Errorf("%s: %v, and at most %v with %d rounds; want %v, %v and %d", name, few, many, p.Most.Rounds, c.few, c.many, c.rounds)
		}
		if p = Foresee(p, nil); p.Most.TookMS != nil || p.Fewest.LoadMS == 0 {
			t.Errorf("%s: without an earlier run it takes %v, with %g ms of load; want not known, and that of the delays", name, p.Most.TookMS, p.Fewest.LoadMS)
		}
	}
}

// Arms in turns leave a cell when its verdicts are decided, and the run has as many rounds as its longest cell.
func TestAPlanKnowsAfterHowManyRoundsACellEnded(t *testing.T) {
	detects := func(rounds int, noise ...result.Noise) float64 {
		p := result.Plan{Arms: []string{"base", "other"}, Pairs: 1, Fewest: result.PlannedRun{Rounds: 16}, Most: result.PlannedRun{Rounds: 16}}
		return Foresee(p, []result.Earlier{{Rounds: rounds, Noise: noise}}).Most.Tells["latency_p50"]
	}
	noise := result.Noise{Metric: "latency_p50", A: "other", B: "base", Error: 0.04, Freedom: 6}
	early, whole := noise, noise
	early.Rounds, whole.Error = 4, 0.03
	if got, want := detects(8, early), detects(4, noise); math.Abs(got-want) > 1e-9 {
		t.Errorf("a cell that ended after 4 of 8 rounds shows that 16 detect %g, and a run of 4 rounds %g", got, want)
	}
	if got, want := detects(8, early, whole), detects(8, whole); math.Abs(got-want) > 1e-9 {
		t.Errorf("16 rounds detect %g, want %g: an error of 4 %% after 4 rounds is 2.8 %% after 8, and so less than 3 %%", got, want)
	}
	d := arms(t, 10.9, 9.4, 10.6, 9.2, 10.3)
	d.Rounds = 10
	if e := Earlier(d); len(e.Noise) == 0 || e.Noise[0].Rounds != 5 || e.Rounds != 10 {
		t.Errorf("the noise of a cell with 5 of 10 rounds is %+v", e.Noise)
	}
}
