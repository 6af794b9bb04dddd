package lab

import (
	"strconv"
	"strings"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/language"
	"rpclab/internal/pace"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
	"rpclab/internal/security"
	"rpclab/internal/workload"
)

// This file says the experiment's words in those of the other rooms.

func workloadOf(c experiment.Config) workload.Spec {
	var w workload.Spec
	if g := c.Workload.Greet; g != nil {
		w.Greet = &workload.Greet{Delay: g.Delay}
	}
	if f := c.Workload.Fibonacci; f != nil {
		w.Fibonacci = &workload.Fibonacci{From: f.From, To: f.To}
	}
	if c.Workload.Increment {
		w.Increment = &workload.Increment{}
	}
	if c.Workload.Increase {
		w.Increase = &workload.Increase{}
	}
	if o := c.Workload.Orders; o != nil {
		w.Orders = &workload.Orders{Delay: o.Delay, Spread: o.Spread, Articles: o.Articles}
	}
	if k := c.Workload.Calculate; k != nil {
		w.Calculate = &workload.Calculate{X: int64(k.X), Y: int64(k.Y), Operation: k.Operation}
	}
	return w
}

// specOf is what to deploy. What runs it is that of its language, or nil: the cluster's own.
func specOf(c experiment.Config, commands map[string][]string) cluster.Spec {
	way, _ := route.Lookup(c.Route) // names that were checked
	written, _ := language.Lookup(c.Server.Language)
	return cluster.Spec{
		Name:     "greeter",
		Command:  commands[c.Server.Language],
		Speaks:   speaks(c),
		Args:     serverArgs(c),
		Replicas: c.Server.Replicas,
		Drain:    c.Server.Drain,
		Zones:    c.Server.Zones,
		CPUs:     c.Server.CPUs,
		Memory:   uint64(c.Server.Memory),
		Runtime:  written.Limits(c.Server.CPUs, uint64(c.Server.Memory)),
		Mesh:     way.Mesh,
		NodePort: way.NodePort,
	}
}

// serverArgs are the arguments of the server program: only those that differ from its own
// defaults, which not every language has.
func serverArgs(c experiment.Config) []string {
	args := workloadOf(c).ServerArgs()
	if c.Server.Model != "" {
		args = append(args, "--model", c.Server.Model)
	}
	workers := c.Server.Workers
	if g := c.Workload.Greet; g != nil && workers == 0 {
		workers = g.Workers // where it was before every workload had it
	}
	if workers > 0 {
		args = append(args, "--workers", strconv.Itoa(workers))
	}
	if c.Server.MaxAge > 0 {
		args = append(args, "--max-age", c.Server.MaxAge.String(), "--age-grace", c.Server.AgeGrace.String())
	}
	if c.Workload.Calculate != nil && policyFor(c).Any() {
		args = append(args, "--secured")
	}
	if c.Policy == settings.WeightedRoundRobin {
		args = append(args, "--report-load") // which costs a little: no other policy asks for it
	}
	return args
}

// settingsOf are those of the route.
func settingsOf(c experiment.Config) settings.Settings {
	s := settings.Settings{
		Policy: c.Policy,
		Proxy:  settings.Proxy{Workers: 1},
	}
	if p := c.Proxy; p != nil {
		s.Proxy = settings.Proxy{Sidecar: p.Place == "sidecar", Workers: p.Workers}
	}
	if o := c.Outlier; o != nil {
		s.Outlier = &settings.Outlier{Failures: float64(o.Failures) / 100, Calls: o.Calls, Interval: o.Interval, Eject: o.Eject, Most: float64(o.Most) / 100}
	}
	if r := c.Caller.Retry; r != nil {
		s.Retry = &settings.Retry{Attempts: r.Attempts, Backoff: r.Backoff, Codes: r.Codes}
		if len(r.Codes) == 0 {
			s.Retry.Codes = []string{"UNAVAILABLE"}
		}
	}
	if h := c.Caller.Hedge; h != nil {
		s.Hedge = &settings.Hedge{Attempts: h.Attempts, Delay: h.Delay}
	}
	return s
}

func jobOf(c experiment.Config) caller.Job {
	job := caller.Job{
		Channels: caller.Channels{Mode: c.Caller.Channel.Mode, Pool: c.Caller.Channel.Pool},
		Timeout:  c.Caller.Timeout,
		Late:     c.Caller.Late,
		Compress: c.Caller.Compress,
		Workload: workloadOf(c),
		REST:     speaks(c) == language.REST && c.Gateway == nil,
	}
	if h := c.Caller.Hedge; h != nil {
		job.Hedge = &caller.Hedge{Attempts: h.Attempts, Delay: h.Delay}
	}
	if s := c.Caller.Stream; s != nil {
		job.Stream = &caller.Stream{Renew: s.Renew, Pipelined: s.Pipelined}
	}
	if c.Gateway != nil {
		job.Iterations = c.Gateway.Iterations
	}
	return job
}

// assignmentOf is that of caller n (from 0).
func assignmentOf(c experiment.Config, f field, n int, client security.Party) assignment {
	job := jobOf(c)
	if c.Workload.Calculate != nil {
		who := c.Caller
		job.Calculations = &caller.Calculations{
			Style: who.Style, Streams: who.Streams, Ahead: who.Ahead, JWT: strings.TrimPrefix(who.JWT, "none"), Metadata: who.Metadata, Party: client,
		}
	}
	return assignment{
		Route: c.Route, Service: f.standing.service(n), Settings: settingsOf(c), Gateway: f.gateway,
		Caller: c.Caller.Kind, Job: job, Warmup: c.Caller.Warmup,
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
			Users: l.Closed.Users, Ramp: l.Closed.Ramp, Think: l.Closed.Think, Duration: l.Closed.Duration, Calls: uint64(l.Closed.Calls),
		}}
	case l.Open != nil:
		return pace.Spec{Rate: &pace.Rate{
			PerSecond: l.Open.Rate, Duration: l.Open.Duration, Max: l.Open.MaxInFlight,
			Poisson: l.Open.Arrivals == "poisson", Seed: seed(seedOf, "arrivals"),
		}}
	}
	return pace.Spec{}
}
