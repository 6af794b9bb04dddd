package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/cluster/faultproxy"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
	"rpclab/internal/service"
)

// The cost of a fault proxy is measured in blocks of calls, directly and through the proxy in turns.
const (
	proxyBlocks    = 5 // of each
	proxyBlock     = 100 * time.Millisecond
	proxyBlockMost = 200 // calls
)

// measureFaultProxy measures what a fault proxy adds to the call of a trial, once in a run for each service. It
// starts a backend for that: those of a trial would otherwise be warmer than those of later trials. An error ends
// the run, as it does if the trial's own servers do not start; a measurement that fails does not.
func (c *trialRunner) measureFaultProxy(ctx context.Context, t trial) error {
	known := func(p result.FaultProxy) bool { return p.Service == t.Config.Service }
	if !t.server.FaultProxy || len(t.job.Calls) == 0 || slices.ContainsFunc(c.proxyCosts, known) {
		return nil
	}
	cost := result.FaultProxy{Service: t.Config.Service, Call: t.job.Calls[0].Name}
	if c.builder.remote {
		cost.Unknown = "this machine does not reach the pods; run the experiment with --on local"
		c.proxyCosts = append(c.proxyCosts, cost)
		return nil
	}
	c.progress.doing(t.Trial, "measuring the cost of the fault proxy")
	if err := c.release(); err != nil {
		return err
	}
	spec, err := c.serverSpec(t)
	if err != nil {
		return err
	}
	spec.Replicas = 1
	servers, err := c.builder.cluster.Deploy(ctx, spec)
	if err != nil {
		return err
	}
	if err := c.describe(ctx, t, servers); err != nil {
		return errors.Join(err, servers.Remove())
	}
	if proxied, ok := servers.(cluster.FaultProxies); ok {
		if err := measureProxy(ctx, t, spec.ProxyTLS, proxied.FaultProxies(), &cost); err != nil {
			cost = result.FaultProxy{Service: cost.Service, Call: cost.Call, Unknown: err.Error()}
		}
	}
	c.proxyCosts = append(c.proxyCosts, cost)
	return errors.Join(ctx.Err(), servers.Remove())
}

// throughProxies returns the calls of a trial as its callers make them.
func (c *trialRunner) throughProxies(t trial) ([]service.Spec, error) {
	proxies, err := c.keys.faultProxy(t)
	return trusting(proxies, t.job.Calls), err
}

// measureProxy makes the first call of a trial directly and through a proxy.
func measureProxy(ctx context.Context, t trial, secured *faultproxy.TLS, proxies []cluster.FaultProxy, cost *result.FaultProxy) (err error) {
	if len(proxies) == 0 {
		return errors.New("the backend exited")
	}
	proxy, job := proxies[0], t.job
	job.Flow, job.Hedge, job.Channels = false, nil, caller.Channels{Mode: caller.Shared}
	open := func(to netip.AddrPort, calls []service.Spec) (caller.Session, error) {
		job.Calls = calls
		session, err := t.library.Open(job, caller.Target{URI: "passthrough:///" + to.String(), Close: func() {}})
		if err != nil {
			return nil, err
		}
		_, err = runBlock(ctx, session, pace.Closed{Users: 1, Calls: 10, Duration: proxyBlock}) // warm up
		return session, err
	}
	var sides [2]proxySide
	for i, to := range []netip.AddrPort{proxy.Backend, proxy.Addr} {
		calls := t.job.Calls[:1]
		if i == 1 {
			calls = trusting(secured, calls)
		}
		session, err := open(to, calls)
		if session != nil {
			defer session.Close()
		}
		if err != nil {
			return err
		}
		sides[i].Session = session
	}
	var used time.Duration
	for range proxyBlocks {
		for i := range sides {
			before, err := measure.CPU(proxy.PID)
			if err := errors.Join(err, sides[i].add(ctx)); err != nil {
				return err
			}
			after, err := measure.CPU(proxy.PID)
			if err != nil {
				return err
			}
			if i == 1 {
				used += after - before
			}
		}
	}
	direct, err := sides[0].median()
	proxied, failed := sides[1].median()
	cpu := float64(used.Microseconds()) / float64(max(sides[1].calls, 1))
	cost.Calls, cost.DirectMS, cost.ProxyMS, cost.CPU = sides[0].calls, &direct, &proxied, &cpu
	return errors.Join(err, failed)
}

// proxySide is the calls directly, or those through the proxy.
type proxySide struct {
	caller.Session
	calls     uint64
	latencies []string
}

func (s *proxySide) add(ctx context.Context) error {
	m, err := runBlock(ctx, s.Session, pace.Closed{Users: 1, Calls: proxyBlockMost, Duration: proxyBlock})
	s.calls += m.Calls
	s.latencies = append(s.latencies, m.Service)
	return err
}

func (s *proxySide) median() (ms float64, err error) {
	all, err := measure.MergeHistograms(s.latencies)
	if err != nil {
		return 0, err
	}
	return result.Milliseconds(time.Duration(all.ValueAtPercentile(50))), nil
}

// runBlock makes a few calls. It fails if one fails.
func runBlock(ctx context.Context, session caller.Session, calls pace.Closed) (m measure.Measurement, err error) {
	recorder, _, err := session.Run(ctx, calls, measure.StartSignal{})
	if err != nil {
		return m, err
	}
	if m, err = recorder.Measurement(); err != nil {
		return m, err
	}
	for code, message := range m.Samples {
		return m, fmt.Errorf("a call failed with %s: %s", code, message)
	}
	return m, ctx.Err()
}

// faultProxyCPU returns the CPU time that fault proxies have used so far.
func faultProxyCPU(servers cluster.Deployment) time.Duration {
	if proxied, ok := servers.(cluster.FaultProxies); ok {
		return proxied.FaultProxyCPU()
	}
	return 0
}
