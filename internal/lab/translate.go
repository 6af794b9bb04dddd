package lab

import (
	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

// This file says the experiment's words in those of the other rooms.

func workloadOf(c experiment.Config) workload.Spec {
	var w workload.Spec
	if g := c.Workload.Greet; g != nil {
		w.Greet = &workload.Greet{Delay: g.Delay, Workers: g.Workers}
	}
	return w
}

func specOf(c experiment.Config) cluster.Spec {
	return cluster.Spec{
		Name:     "greeter",
		Args:     workloadOf(c).ServerArgs(),
		Replicas: c.Server.Replicas,
		Drain:    c.Server.Drain,
	}
}

func jobOf(c experiment.Config) caller.Job {
	return caller.Job{
		Channels: caller.Channels{Mode: c.Caller.Channel.Mode, Pool: c.Caller.Channel.Pool},
		Timeout:  c.Caller.Timeout,
		Workload: workloadOf(c),
	}
}

func paceOf(l experiment.Load, seedOf uint64) pace.Spec {
	switch {
	case l.Sequence > 0:
		sequence := pace.Sequence(uint64(l.Sequence))
		return pace.Spec{Closed: &sequence}
	case l.Burst > 0:
		return pace.Spec{Burst: &pace.Burst{Calls: l.Burst}}
	case l.Closed != nil:
		return pace.Spec{Closed: &pace.Closed{
			Users: l.Closed.Users, Think: l.Closed.Think, Duration: l.Closed.Duration, Calls: uint64(l.Closed.Calls),
		}}
	case l.Open != nil:
		return pace.Spec{Rate: &pace.Rate{
			PerSecond: l.Open.Rate, Duration: l.Open.Duration, Max: l.Open.MaxInFlight,
			Poisson: l.Open.Arrivals == "poisson", Seed: seed(seedOf, "arrivals"),
		}}
	}
	return pace.Spec{}
}
