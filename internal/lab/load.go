package lab

import (
	"context"
	"fmt"

	"rpclab/internal/analysis"
	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// loader makes the loads of one trial, on its callers and its testbed.
type loader struct {
	trial      trial
	callers    *callerGroup
	bed        testbed
	cluster    cluster.Cluster
	remote     bool // callers and servers run on other machines
	processors func() measure.ProcessorTimes
	progress   *progress
}

// load makes one load with its events, records everything until it ends, and summarizes it.
func (l loader) load(ctx context.Context, measured result.Trial, o loadOrder) (result.Trial, error) {
	servers := l.bed.servers
	meshUsage := recordMeshUsage(ctx, l.cluster, l.trial.route.Mesh)
	if err := l.bed.infrastructure.resetUsage(); err != nil { // it died, perhaps of the load before
		return failedTrial(ctx, measured, err)
	}
	if err := servers.ResetUsage(); err != nil {
		return measured, err
	}
	memory := recordMemory(servers)
	endpoints := recordEndpoints(servers.Endpoints())
	defer endpoints.stop()
	processors := recordProcessors(l.processors)
	o.Watch = l.progress.listener != nil
	limited, cancel := context.WithTimeout(ctx, l.trial.timeout)
	defer cancel()
	start, err := l.callers.readClocks(limited)
	if err != nil {
		memory()
		return failedTrial(ctx, measured, err)
	}
	events := performEvents(ctx, l.bed, l.trial.Events, start, l.progress.performed)
	parts, err := l.callers.load(limited, start, o)
	measured.Memory = memory()
	performed := events()
	if err != nil {
		return failedTrial(ctx, measured, err)
	}
	whole, err := measure.Merge(parts)
	if err != nil {
		return measured, err
	}
	sinceStart, own := processors()
	measured.Lost = l.bed.failures()
	r := analysis.Record{
		Config: l.trial.Config, Calling: l.trial.library.callsBackends(), Start: start, Callers: l.callers.records(parts), Whole: whole,
		Events: performed, Endpoints: endpoints.stop(), Servers: servers.Usage(),
	}
	if r.Proxies, r.Gateways, r.ControlPlane, err = l.bed.usage(); err != nil {
		return failedTrial(ctx, measured, fmt.Errorf("read what proxies, gateway and control plane used: %w", err))
	}
	if meshUsage != nil {
		r.Proxies, measured.Unknown = meshUsage()
	}
	if l.remote { // this machine's processors made none of the calls
		measured.Machine = r.NodeInterference()
	} else {
		measured.Machine = r.MachineInterference(sinceStart, own)
		r.Whole.Throttled = 0 // it is of this machine's control group, not of callers alone
	}
	if l.bed.gateway == "" { // one request to a gateway is a call to each backend that it reaches
		r.Started = servers.CallCounts()
	}
	return r.Summarize(measured), nil
}

// failedTrial tells an interrupt, which ends the run, from a caller that failed.
func failedTrial(ctx context.Context, measured result.Trial, err error) (result.Trial, error) {
	if ctx.Err() != nil {
		return measured, ctx.Err()
	}
	measured.Failed = err.Error()
	return measured, nil
}
