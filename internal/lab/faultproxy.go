package lab

import (
	"context"
	"errors"
	"slices"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/faultproxy"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
	"rpclab/internal/service"
)

// The cost of a fault proxy is measured in blocks of calls, directly and through the proxy in turns.
const (
	proxyBlocks    = 5   // of each
	proxyBlockMost = 200 // calls
)

// measureFaultProxy measures what a fault proxy adds to the call of a trial, once in a run for each service. It
// starts a backend for that: those of a trial would otherwise be warmer than those of later trials. An error ends
// the run, as it does if the trial's own servers do not start; a measurement that fails does not.
func (r *trialRunner) measureFaultProxy(ctx context.Context, t trial) error {
	known := func(p result.FaultProxy) bool { return p.Service == t.Config.Service }
	if !t.server.FaultProxy || len(t.job.Calls) == 0 || slices.ContainsFunc(r.proxyCosts, known) {
		return nil
	}
	cost := result.FaultProxy{Service: t.Config.Service, Call: t.job.Calls[0].Name}
	r.progress.doing(t.Trial, "measuring the cost of the fault proxy")
	if err := r.release(); err != nil {
		return err
	}
	spec, err := r.serverSpec(t)
	if err != nil {
		return err
	}
	spec.Replicas = 1
	servers, err := r.builder.cluster.Deploy(ctx, spec)
	if err != nil {
		return err
	}
	if t.job.Calls, err = r.completeCalls(ctx, t, servers); err != nil {
		return errors.Join(err, servers.Remove())
	}
	if proxied, ok := servers.(cluster.FaultProxies); ok {
		if err := r.measureProxy(ctx, t, spec.ProxyTLS, proxied.FaultProxies(), &cost); err != nil {
			cost = result.FaultProxy{Service: cost.Service, Call: cost.Call, Unknown: err.Error()}
		}
	}
	r.proxyCosts = append(r.proxyCosts, cost)
	return errors.Join(ctx.Err(), servers.Remove())
}

// throughProxies returns the calls of a trial as its callers make them.
func (r *trialRunner) throughProxies(t trial) ([]service.Spec, error) {
	proxies, err := r.keys.faultProxy(t)
	return trusting(proxies, t.job.Calls), err
}

// measureProxy makes the first call of a trial directly and through a proxy.
func (r *trialRunner) measureProxy(ctx context.Context, t trial, secured *faultproxy.TLS, proxies []cluster.FaultProxy, cost *result.FaultProxy) (err error) {
	if len(proxies) == 0 {
		return errors.New("the backend exited")
	}
	proxy := proxies[0]
	open, end, err := r.channels(ctx, t)
	if err != nil {
		return err
	}
	defer end()
	var used time.Duration
	direct, proxied := proxySide{channel: open(proxy.Backend, t.job.Calls[:1])}, proxySide{channel: open(proxy.Addr, trusting(secured, t.job.Calls[:1]))}
	for range proxyBlocks {
		if _, err := direct.block(ctx, proxy.CPU); err != nil {
			return err
		}
		cpu, err := proxied.block(ctx, proxy.CPU)
		if err != nil {
			return err
		}
		used += cpu
	}
	directMS, err := direct.median()
	proxiedMS, failed := proxied.median()
	cpu := float64(used.Microseconds()) / float64(max(proxied.calls, 1))
	cost.Calls, cost.DirectMS, cost.ProxyMS, cost.CPU = direct.calls, &directMS, &proxiedMS, &cpu
	return errors.Join(err, failed)
}

// proxySide is the calls directly, or those through the proxy.
type proxySide struct {
	channel   warmChannel
	calls     uint64
	latencies []string
}

// block makes a block of calls and returns the CPU time that the proxy used meanwhile.
func (s *proxySide) block(ctx context.Context, proxyCPU func() (time.Duration, error)) (used time.Duration, err error) {
	if err := s.channel.warm(ctx); err != nil {
		return 0, err
	}
	before, err := proxyCPU()
	if err != nil {
		return 0, err
	}
	m, err := s.channel.measure(ctx, pace.Closed{Users: 1, Calls: proxyBlockMost, Duration: blockLength})
	if err != nil {
		return 0, err
	}
	s.calls += m.Calls
	s.latencies = append(s.latencies, m.Service)
	after, err := proxyCPU()
	return after - before, err
}

func (s *proxySide) median() (ms float64, err error) {
	all, err := measure.MergeHistograms(s.latencies)
	if err != nil {
		return 0, err
	}
	return result.Milliseconds(time.Duration(all.ValueAtPercentile(50))), nil
}

// faultProxyCPU returns the CPU time that fault proxies have used so far.
func faultProxyCPU(servers cluster.Deployment) time.Duration {
	if proxied, ok := servers.(cluster.FaultProxies); ok {
		return proxied.FaultProxyCPU()
	}
	return 0
}
