package result

import "testing"

func TestTheTimeOfALoadDependsOnItsConfiguration(t *testing.T) {
	type m = map[string]any
	for name, c := range map[string]struct {
		config              m
		least, calls, turns float64
	}{
		"burst":        {m{"load": m{"burst": 2000}, "workload": m{"greet": m{"delay": "500ms"}}}, 500, 2000, 1},
		"sequence":     {m{"load": m{"sequence": 100}, "workload": m{"greet": m{"delay": "2ms"}}}, 200, 100, 100},
		"no delay":     {m{"load": m{"sequence": 100}, "workload": m{"increase": true}}, 0, 100, 100},
		"closed calls": {m{"load": m{"closed": m{"users": 20, "calls": 100, "think": "10ms"}}, "workload": m{"orders": m{"delay": "200ms"}}}, 1050, 100, 5},
		"closed time":  {m{"load": m{"closed": m{"users": 20, "duration": "1m", "think": "1s"}}}, 60_000, 60_000, 1},
		"open":         {m{"load": m{"open": m{"rate": 100, "duration": "1.5s"}}, "workload": m{"greet": m{"delay": "5ms"}}}, 1500, 1500, 1},
		"search":       {m{"load": m{"search": m{"from": 1, "to": 9, "duration": "2s"}}}, 2000, 2000, 2000},
		"none":         {nil, 0, 0, 1},
	} {
		arm := Arm{Name: "a", Cell: Cell{"load.burst": 1}, Config: c.config, Trials: []Trial{
			{Measures: Measures{ElapsedMS: 10}}, {Measures: Measures{ElapsedMS: 30}}, {Failed: "no server"},
		}}
		want := LoadTime{Arm: "a", Cell: arm.Cell.Key(), LeastMS: c.least, Calls: c.calls, Turns: c.turns, Trials: 2, MeanMS: 20}
		if got := LoadTimes(Document{Arms: []Arm{arm}}); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestAPlannedLoadTakesAsLongAsAMeasuredOneSays(t *testing.T) {
	sequence := LoadTime{LeastMS: 100, Calls: 10, Turns: 10, MeanMS: 150}
	for name, c := range map[string]struct {
		planned, measured LoadTime
		low, high         float64
	}{
		"the same":               {sequence, sequence, 150, 150},
		"more calls":             {LoadTime{LeastMS: 1000, Calls: 100, Turns: 100}, sequence, 1500, 1500},
		"more users":             {LoadTime{LeastMS: 100, Calls: 100, Turns: 10}, sequence, 150, 600},
		"a fixed time":           {LoadTime{LeastMS: 4000, Calls: 4000, Turns: 1}, LoadTime{LeastMS: 1000, Calls: 1000, Turns: 1, MeanMS: 1100}, 4100, 4400},
		"less than it has least": {LoadTime{LeastMS: 1000, Calls: 100, Turns: 100}, LoadTime{LeastMS: 100, Calls: 10, Turns: 10, MeanMS: 50}, 1000, 1000},
	} {
		if low, high := c.planned.Between(c.measured); low != c.low || high != c.high {
			t.Errorf("%s: %g to %g ms, want %g to %g", name, low, high, c.low, c.high)
		}
	}
}

func TestTheStartsOfARunAreTheRestOfItsTime(t *testing.T) {
	finished := start.Add(10_000_000_000)
	trial := func(round, group int) Trial {
		return Trial{Round: round, Group: group, Measures: Measures{ElapsedMS: 1000}}
	}
	for design, want := range map[string]struct {
		rest   float64
		starts int
	}{"isolated": {4000, 6}, "": {4000, 6}, "interleaved": {4000, 3}, "side-by-side": {7000, 3}} {
		d := Document{Design: design, Started: start, Finished: &finished, Arms: []Arm{
			{Name: "base", Trials: []Trial{trial(1, 1), trial(2, 1), trial(1, 2), trial(2, 2)}},
			{Name: "other", Trials: []Trial{trial(1, 1), trial(2, 1)}},
		}}
		if e := EarlierOf(d); e.RestMS != want.rest || e.Starts != want.starts || e.TookMS != 10_000 {
			t.Errorf("%q: %g ms of %g ms were for %d starts, want %g of 10,000 for %d", design, e.RestMS, e.TookMS, e.Starts, want.rest, want.starts)
		}
	}
}
