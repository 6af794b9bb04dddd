package report

import "rpclab/internal/result"

// spreads slows down one of three backends, with four load-balancing policies.
func spreads() result.Document {
	d := base("policies", "When one of three backends becomes ten times slower, which load balancing policy keeps tail latency low?")
	d.Baseline, d.Rounds = "round-robin", 4
	for _, w := range []struct {
		name, route, policy string
		outlier             bool
		p99, avoided        float64 // ms; 0: not avoided
		late, onHit         uint64  // of 300
		proxy               result.Usage
	}{
		{"round-robin", "xds", "round_robin", false, 2912, 0, 101, 100, result.Usage{}},
		{"least-request", "xds", "least_request", false, 61, 300, 12, 14, result.Usage{}},
		{"weighted", "xds", "weighted_round_robin", false, 212, 600, 31, 22, result.Usage{}},
		{"outlier-deadline", "xds", "round_robin", true, 99, 1100, 14, 9, result.Usage{}},
		{"envoy-least-request", "envoy", "least_request", false, 66, 400, 13, 16, result.Usage{CPU: 141.4, RSS: 52e6}},
	} {
		arm := result.Arm{Name: w.name, Route: w.route, Policy: w.policy, Channel: "shared", Cell: result.Cell{}, Config: map[string]any{"policy": w.policy}}
		arm = onRoute(arm)
		if w.outlier {
			arm.Config["outlier"] = map[string]any{}
		}
		arm.Calls, arm.ElapsedMS, arm.Latency, arm.Late = 1200, 4004, latency(6.1, w.p99), 4*w.late
		arm.Resources = result.Resources{Client: result.Usage{CPU: 90, RSS: 31e6}, Server: result.Usage{CPU: 75, RSS: 22e6}, Proxy: w.proxy, Control: result.Usage{CPU: 3.2, RSS: 38e6}}
		for round := 1; round <= d.Rounds; round++ {
			e := result.Event{Arm: w.name, Cell: arm.Cell, Round: round, AtMS: 1000, What: "slow 1 times 10", Action: result.ActionSlow, Count: 1,
				Affected: []string{"greeter-0"}, Ready: 3, Late: w.late, Answered: 300, AnsweredByAffected: w.onHit}
			if w.avoided > 0 {
				e.Took.Avoided = ms2(w.avoided)
			}
			d.Events = append(d.Events, e)
			arm.Trials = append(arm.Trials, result.Trial{Round: round, Measures: arm.Measures, Events: []result.Event{e}})
		}
		d.Arms = append(d.Arms, arm)
	}
	d.TrialCount = 4 * len(d.Arms)
	return d
}
