package report

import (
	"fmt"

	"rpclab/internal/result"
)

// churn is a run of 40 s: 3 → 10 backends, one killed, 10 → 2.
func churn() result.Document {
	d := base("churn", "When backends are added, killed and removed, how soon does each route use the new set, and which calls fail?")
	d.Baseline = "endpointslice"
	d.Rounds = 3
	d.Arms = []result.Arm{
		churnArm(&d, "endpointslice", "endpointslice", "shared", func(ready, step int) int { return ready }, 0, 2.1),
		churnArm(&d, "headless", "headless", "shared", func(ready, step int) int { return min(ready, 3) }, 3, -1),
		churnArm(&d, "shared", "clusterip", "shared", func(_, step int) int { return btoi(step < 350) }, 40, -1),
		churnArm(&d, "new-channel", "clusterip", "per-call", func(ready, step int) int { return ready }, 1, -1),
	}
	d.TrialCount = 12
	return d
}

func readyAt(step int) int {
	switch {
	case step < 56:
		return 3
	case step < 250:
		return 10
	}
	return 2
}

func churnArm(d *result.Document, name, route, channel string, used func(ready, step int) int, failed uint64, told float64) result.Arm {
	arm := onRoute(result.Arm{Name: name, Route: route, Channel: channel, Cell: result.Cell{}})
	arm.Late, arm.Wasted = 6*failed, &failed
	arm.Calls, arm.ElapsedMS, arm.Latency = 8000, 40012, latency(11.2, 31.5)
	arm.Errors = map[string]uint64{}
	if failed > 0 {
		arm.Errors["UNAVAILABLE"] = failed * 3
		arm.Samples = map[string]string{"UNAVAILABLE": "error reading from server: read tcp 127.0.0.1:50212->127.0.1.4:50051: connection reset by peer"}
	}
	for round := 1; round <= 3; round++ {
		t := result.Trial{Round: round, Timeline: &result.Timeline{IntervalMS: 100, Backends: map[string][]uint64{}, Errors: make([]uint64, 400)}}
		for step := range 400 {
			ready := readyAt(step)
			t.Timeline.Ready = append(t.Timeline.Ready, ready)
			for b := range used(ready, step) {
				id := fmt.Sprintf("greeter-%d", b+1)
				if t.Timeline.Backends[id] == nil {
					t.Timeline.Backends[id] = make([]uint64, 400)
				}
				t.Timeline.Backends[id][step] = uint64(20 / used(ready, step))
			}
		}
		for i, what := range []string{"scale 10", "kill 1", "scale 2"} {
			e := result.Event{Arm: name, Cell: result.Cell{}, Round: round, AtMS: float64(5000+10000*i) + float64(round)/2, What: what, Action: []result.Action{result.ActionScale, result.ActionKill, result.ActionScale}[i], Count: []int{10, 1, 2}[i]}
			e.Took.EndpointReady = ms2(612.4 + float64(round))
			if told >= 0 {
				e.Took.ResolverUpdated = ms2(612.4 + told + float64(round))
			}
			if i < 2 && name != "shared" && (name != "headless" || round == 1) {
				e.Took.FirstCall = ms2(640.1 + float64(round)*10)
				e.Took.BalanceRestored = ms2([]float64{1201.7, 100}[i])
			} else if name == "shared" || name == "headless" {
				e.Took.BalanceNote = fmt.Sprintf("%d calls per backend in 1 s are too few to tell balance from chance; 44 are enough", 14+round)
				e.Took.BalanceCause = &result.Cause{Kind: result.CauseCalls, Have: float64(14 + round), Needed: 44}
			}
			if i == 1 {
				e.Failed, e.Affected, e.Ready, e.Late = failed, []string{"greeter-0"}, 10, 2*failed
				if failed > 0 {
					e.Errors = map[string]uint64{"UNAVAILABLE": failed}
				}
				if name != "shared" {
					e.Took.Avoided = ms2(float64(100 + 100*failed))
				}
			}
			t.Events = append(t.Events, e)
			d.Events = append(d.Events, e)
		}
		arm.Trials = append(arm.Trials, t)
	}
	return arm
}

func ms2(v float64) *float64 { return &v }
