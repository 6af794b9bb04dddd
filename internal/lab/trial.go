package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// measure runs one trial: servers, a warm caller, the load with its events, and what
// came of it. An error means that the lab could not do it; a caller that died is a
// trial that failed, which is a finding.
func (l *lab) measure(ctx context.Context, t experiment.Trial) (trial result.Trial, err error) {
	trial = result.Trial{Round: t.Round, Order: t.Order, Started: time.Now().UTC()}
	if why := l.lacking(t.Config); why != "" {
		trial.Failed = fmt.Sprintf("%v: %s", ErrNotRun, why)
		return trial, nil
	}
	servers, err := l.deploy(ctx, t)
	if err != nil {
		return trial, err
	}
	if bounded, ok := servers.(cluster.Bounded); ok {
		trial.Limits = bounded.Bounds()
	}
	c, err := l.startCrew(ctx, t.Config)
	if err != nil {
		return trial, err
	}
	defer c.kill()
	f, err := l.stand(ctx, t, servers, c.sidecars())
	if err != nil {
		return trial, err
	}
	trial.Files = f.standing.files()
	defer func() {
		if trial.Failed != "" {
			trial.Lost = f.losses() // perhaps because of them
		}
		c.stop()                                           // calls end before what they go through
		if remains := f.standing.close(); remains != nil { // no reason to lose what was measured
			trial.Lost = append(trial.Lost, fmt.Sprintf("what stood before the backends is not gone: %v", remains))
		}
	}()
	clients, err := l.clients(t)
	if err != nil {
		return trial, err
	}
	if err := c.ready(ctx, func(n int) assignment { return assignmentOf(t.Config, f, n, clients[n]) }); err != nil {
		return failedTrial(ctx, trial, err)
	}
	if t.Config.Load.Search != nil {
		return l.seek(ctx, trial, t, c, f, func(doing string) { l.progress(t, nil, doing) })
	}
	return l.load(ctx, trial, t, c, f, order{Pace: paceOf(t.Config.Load, t.Seed)}, longest(t.Config))
}

// load makes one load of a trial, which may take so long, and says what came of it.
func (l *lab) load(ctx context.Context, trial result.Trial, t experiment.Trial, c *crew, f field, o order, most time.Duration) (result.Trial, error) {
	servers := f.servers
	meshed := l.lookAtMesh(ctx, t.Config)
	if err := f.standing.resetUsage(); err != nil { // it died, perhaps of the load before
		return failedTrial(ctx, trial, err)
	}
	if err := servers.ResetUsage(); err != nil {
		return trial, err
	}
	remember := watchMemory(servers)
	history := follow(servers.Endpoints())
	defer history.stop()
	before := l.lookAround()
	o.Watch = l.Progress != nil
	limit, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	start, err := c.begin(limit, o)
	if err != nil {
		remember()
		return failedTrial(ctx, trial, err)
	}
	acts := stage(ctx, f, t.Events, start, l.happened)
	parts, err := c.measurements(limit)
	trial.Memory = remember()
	done := acts()
	if err != nil {
		return failedTrial(ctx, trial, err)
	}
	seen, err := measure.Merge(parts)
	if err != nil {
		return trial, err
	}
	after := l.lookAround()
	trial.Lost = f.losses()
	used := servers.Usage()
	proxies, gateways, control, err := f.spent()
	if err != nil {
		return failedTrial(ctx, trial, fmt.Errorf("what stands before the backends cannot say what it used: %w", err))
	}
	if meshed != nil {
		proxies, trial.Unknown = meshed()
	}
	if l.Remote { // this machine is not where it was
		trial.Machine = overNodes(seen, used, t.Config.Server.CPUs > 0, proxies, gateways, control)
	} else {
		trial.Machine = after.since(before, seen.CPU+total(used).CPU+proxies.CPU+gateways.CPU+control.CPU)
		seen.Throttled = 0 // which was all of them
	}
	if f.gateway == "" { // a request of its counts for every backend that its calls reached
		trial.Wasted = wasted(servers.Served(), seen.Backends)
	}
	trial.Resources.Proxy = usagePerCall(proxies, seen.Calls)
	trial.ProxyConnections = proxies.Connections
	trial.Resources.Gateway = usagePerCall(gateways, seen.Calls)
	trial.Resources.Control = usagePerCall(control, seen.Calls)
	if trial.Callers, err = c.each(start, parts); err != nil {
		return trial, err
	}
	return fill(trial, t, seen, used, history.stop(), done), nil
}

// total is what all servers used, of memory what the largest did.
func total(used map[string]cluster.Usage) (all cluster.Usage) {
	for _, u := range used {
		all.CPU, all.Throttled, all.MaxRSS = all.CPU+u.CPU, all.Throttled+u.Throttled, max(all.MaxRSS, u.MaxRSS)
	}
	return all
}

// usageOf is what callers used.
func usageOf(m measure.Measurement) cluster.Usage {
	return cluster.Usage{CPU: m.CPU, MaxRSS: m.MaxRSS, Throttled: m.Throttled}
}

// longest is how long a caller may take over a load before it is given up: as if
// every call took its whole timeout, and a minute for a slow machine.
func longest(c experiment.Config) time.Duration {
	l, calls := c.Load, 1
	switch {
	case l.Sequence > 0:
		calls = l.Sequence
	case l.Closed != nil && l.Closed.Duration == 0:
		calls = l.Closed.Calls/l.Closed.Users + 1
	}
	d := time.Minute + time.Duration(calls)*c.Caller.Timeout
	if l.Closed != nil {
		d += l.Closed.Duration + time.Duration(calls)*l.Closed.Think
	}
	if l.Open != nil {
		d += l.Open.Duration
	}
	if l.Search != nil {
		d += 2 * l.Search.Duration // of one probe, and what it queued
	}
	return d
}

// failedTrial tells an interrupt, which ends the run, from a caller that failed.
func failedTrial(ctx context.Context, trial result.Trial, err error) (result.Trial, error) {
	if ctx.Err() != nil {
		return trial, ctx.Err()
	}
	trial.Failed = err.Error()
	return trial, nil
}

// deploy gives the trial its servers: new ones, unless the experiment lets them stay
// and the last trial's are of the same kind and unharmed.
func (l *lab) deploy(ctx context.Context, t experiment.Trial) (cluster.Deployment, error) {
	spec := specOf(t.Config, l.commands)
	secure, err := l.server(t.Config)
	if err != nil {
		return nil, err
	}
	spec.Secure = secure
	serve := fmt.Sprint(spec)
	if l.servers != nil && l.serve == serve && !t.Config.Server.Fresh && len(t.Events) == 0 {
		return l.servers, nil
	}
	if err := l.release(); err != nil {
		return nil, err
	}
	servers, err := l.Cluster.Deploy(ctx, spec)
	if err != nil {
		return nil, err
	}
	l.servers, l.serve = servers, serve
	if len(t.Events) > 0 {
		l.serve = "" // it will not be what it was
	}
	return servers, nil
}

func (l *lab) release() error {
	if l.servers == nil {
		return nil
	}
	err := l.servers.Remove()
	l.servers, l.serve = nil, ""
	return err
}

// fill says what the caller and the servers measured in the words of the result.
func fill(trial result.Trial, t experiment.Trial, seen measure.Measurement, used map[string]cluster.Usage, history []cluster.Snapshot, acts []act) result.Trial {
	var errs [3]error
	trial.Calls, trial.Dropped, trial.Late = seen.Calls, seen.Dropped, seen.Late
	trial.Errors, trial.Samples = seen.Errors, seen.Samples
	trial.Latency, errs[0] = histogram(seen.Latency)
	trial.Service, errs[1] = histogram(seen.Service)
	trial.Lateness, errs[2] = histogram(seen.Lateness)
	if err := errors.Join(errs[:]...); err != nil {
		trial.Failed = err.Error()
	}
	trial.ElapsedMS = ms(seen.Elapsed)
	if seen.Elapsed > 0 {
		trial.Rate = float64(seen.Calls) / seen.Elapsed.Seconds()
	}
	trial.Backends = map[string]uint64{}
	if calls(t.Config) {
		for _, snapshot := range history {
			for _, e := range snapshot.Ready() {
				trial.Backends[e.ID] = 0
			}
		}
		maps.Copy(trial.Backends, seen.Backends)
	}
	trial.Timeline = timeline(seen, history)
	trial.Resources.Client = usagePerCall(usageOf(seen), seen.Calls)
	trial.Servers = map[string]result.ServerUsage{}
	for id, u := range used {
		trial.Servers[id] = result.ServerUsage{CPUMS: ms(u.CPU), RSS: u.MaxRSS, Charged: u.Charged, ThrottledMS: ms(u.Throttled)}
	}
	trial.Resources.Server = usagePerCall(total(used), seen.Calls)
	trial.Events = outcomes(acts, seen, history)
	trial.Limited = limited(t.Config.Load, trial)
	trial.Groups = groups(trial.Backends, len(t.Events) > 0, seen, history)
	trial.Balance = balance(trial.Groups)
	return trial
}

// timeline adds to the caller's counts how many backends were ready in each interval.
func timeline(seen measure.Measurement, history []cluster.Snapshot) *result.Timeline {
	steps := int(seen.Elapsed/measure.Interval) + 1
	line := &result.Timeline{
		IntervalMS: measure.Interval.Milliseconds(), Backends: seen.Timeline.Backends,
		Errors: seen.Timeline.Failed(), Late: seen.Timeline.Late, Ready: make([]int, steps),
	}
	for i := range line.Ready {
		at := seen.Started.Add(time.Duration(i) * measure.Interval)
		for j, snapshot := range history {
			if j == 0 || !snapshot.At.After(at) {
				line.Ready[i] = len(snapshot.Ready())
			}
		}
	}
	return line
}

func usagePerCall(used cluster.Usage, calls uint64) result.Usage {
	u := result.Usage{RSS: used.MaxRSS, ThrottledMS: ms(used.Throttled)}
	if calls > 0 {
		u.CPU = float64(used.CPU.Nanoseconds()) / 1e3 / float64(calls)
	}
	return u
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
