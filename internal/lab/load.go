package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/language"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process/running"
	"rpclab/internal/result"
	"rpclab/internal/service"
)

// loader makes the loads of one trial, on its callers and its testbed.
type loader struct {
	trial      trial
	callers    *callerGroup
	bed        testbed
	cluster    cluster.Cluster
	remote     bool // callers and servers run in a cluster
	processors func() measure.ProcessorTimes
	otherRuns  func() []running.Run
	progress   *progress
	block      bool          // loads are short, and there are many
	blocks     *machineWatch // of all blocks of a trial; nil: each load has its own
	sideBySide bool          // at the same time as those of other arms
	phase      string        // of the run; empty: PhaseLoad
}

// load makes one load, performs its events, and adds a summary of what it measured to a trial. After an interrupt it returns
// the error, with what was measured if the trial keeps that.
func (l loader) load(ctx context.Context, measured result.Trial, o loadRequest) (result.Trial, error) {
	servers := l.bed.servers
	endMeshUsage := recordMeshUsage(ctx, l.cluster, l.trial.route.Mesh, l.block, len(l.trial.Events) > 0)
	if err := l.bed.infrastructure.resetUsage(); err != nil { // it may have died during the previous load
		return failedTrial(ctx, measured, err)
	}
	if err := servers.ResetUsage(); err != nil {
		return measured, err
	}
	endMemory := recordMemory(servers)
	endpoints := recordEndpoints(servers.Endpoints())
	defer endpoints.stop()
	endMachine := l.watchMachine()
	endProcessors := recordProcessors(l.processors)
	endFound := recordFound(servers)
	kernel, endJVMs := measure.ReadKernelCounters(), recordJVMs(l.bed)
	proxyCPU := faultProxyCPU(servers)
	o.Watch = l.progress.listener != nil && l.phase != PhaseRehearse // listeners add up what is measured
	limited, cancel := context.WithTimeout(ctx, l.trial.timeout)
	defer cancel()
	start, err := l.start(limited, o.Pace)
	if err != nil {
		endMemory()
		measured.MachineWarnings = endMachine()
		return failedTrial(ctx, measured, err)
	}
	endEvents := performEvents(ctx, l.bed, l.trial.Events, start, func(e result.Event) {
		l.progress.performed(e)
		l.progress.endedPhase(eventPhase(l.trial.Trial, e, start))
	})
	shares, interrupted, err := l.makeLoad(ctx, limited, start, o)
	l.progress.endedPhase(Phase{Name: cmp.Or(l.phase, PhaseLoad), Trial: l.trial.Trial, Began: start, Err: err})
	measured.Memory = endMemory()
	kernel = measure.ReadKernelCounters().Since(kernel)
	jvms := endJVMs()
	performed := endEvents()
	measured.MachineWarnings = endMachine()
	if err = cmp.Or(err, outOfReach(performed)); err != nil {
		return failedTrial(ctx, measured, err)
	}
	unknown, ownNames := l.nameServiceBackends(shares, endpoints.stop())
	measured.Unknown = alsoUnknown(measured.Unknown, unknown)
	merged, err := measure.Merge(shares)
	if err != nil {
		return measured, err
	}
	sinceStart, own := endProcessors()
	found, foundKnown := endFound()
	measured.Lost = l.bed.failures()
	if len(measured.Lost) == 0 && len(l.trial.Events) == 0 { // else these may be the reason
		addLost(&measured, changedByOthers(endpoints.stop()))
	}
	r := analysis.Record{
		Config: l.trial.Config, CallsBackends: l.trial.library.callsBackends(), BackendsUnknown: unknown != "", OwnNames: ownNames, Start: start, Callers: l.callers.records(shares), Merged: merged,
		Events: performed, Endpoints: endpoints.stop(), Servers: servers.Usage(), JVMs: jvms, Interrupted: interrupted,
	}
	if r.Proxies, r.Gateways, r.ControlPlane, err = l.bed.usage(); err != nil {
		return failedTrial(ctx, measured, fmt.Errorf("read the usage of proxies, gateway and control plane: %w", err))
	}
	if why := whyUsageUnknown(servers); r.Servers == nil && why != "" {
		measured.Unknown = alsoUnknown(measured.Unknown, "what the servers used is not known: "+why)
	}
	if endMeshUsage != nil {
		var why string
		r.Proxies, why = endMeshUsage()
		measured.Unknown = alsoUnknown(measured.Unknown, why)
	}
	if l.remote { // callers and servers used the processors of other machines
		measured.Machine = r.NodeInterference()
	} else {
		// The arm at the same time would be among the other programs.
		measured.Machine = withOthers(r.MachineInterference(sinceStart, own+found+faultProxyCPU(servers)-proxyCPU), foundKnown && !l.sideBySide)
		r.Merged.Throttled = 0 // this machine's control group throttles more than the callers
	}
	if !l.remote && !l.sideBySide {
		r.Kernel = &kernel
	}
	if l.bed.gateway == "" { // a gateway makes many calls for one request
		r.CallsStarted = servers.CallCounts()
	}
	measured = r.Summarize(measured)
	if !interrupted.IsZero() {
		return measured, ctx.Err()
	}
	return measured, nil
}

// makeLoad has the callers make the load.
func (l loader) makeLoad(ctx, limited context.Context, start time.Time, o loadRequest) (shares []measure.Measurement, interrupted time.Time, err error) {
	if l.trial.keeps {
		return l.callers.loadUntilInterrupt(ctx, l.trial.timeout, start, o)
	}
	shares, err = l.callers.load(limited, start, o)
	return shares, interrupted, err
}

// nameServiceBackends gives the backends of a user's service in what callers measured the names of their endpoints. It
// returns why it is not known which backends answered, empty if it is, and whether the backends have names of their own.
func (l loader) nameServiceBackends(shares []measure.Measurement, history []cluster.Snapshot) (unknown string, ownNames bool) {
	calls := l.trial.job.Calls
	if len(calls) == 0 && l.trial.job.Command == nil {
		return "", false
	}
	unknown = "rpclab does not know which backends answered: caller.command can write backend (an address or a name) into its outcomes"
	var identity service.Identity
	callsPerFlow := 1
	if len(calls) > 0 {
		identity = calls[0].Identity // that of all calls of a service
		unknown = unknownBackends(identity)
	}
	if l.trial.job.Flow {
		callsPerFlow = len(calls)
	}
	nameBackends(shares, identity, len(calls) == 0, history)
	if knowsBackends(shares, callsPerFlow) {
		unknown = ""
	}
	return unknown, !namesEndpoints(shares, history)
}

// processes returns all processes of this machine that take part in the load.
func (l loader) processes() []measure.Watched {
	return append(l.bed.processes(), l.callers.localProcesses()...)
}

// watchMachine watches the machine during a load. The returned function ends that and returns the warnings, but those of
// a block belong to the whole trial.
func (l loader) watchMachine() (end func() []result.MachineWarning) {
	if l.blocks == nil {
		return watchMachine(l.otherRuns, l.processes)
	}
	endBlock := l.blocks.load()
	return func() []result.MachineWarning {
		endBlock()
		return nil
	}
}

// recordJVMs returns a function that returns what Java virtual machines of a testbed spend on themselves until then;
// nil: there are none on this machine.
func recordJVMs(bed testbed) (end func() *measure.JVMTimes) {
	read := func() map[int]measure.JVMTimes {
		var pids []int
		for _, p := range bed.processes() {
			pids = append(pids, p.PID)
		}
		return measure.ReadJVMs(pids...)
	}
	before := read()
	return func() *measure.JVMTimes { return measure.JVMTimesSince(before, read()) }
}

// eventPhase is the phase of an event during a load that started at start.
func eventPhase(t experiment.Trial, e result.Event, start time.Time) Phase {
	p := Phase{Name: PhaseEvent, Trial: t, Event: &e, Began: start.Add(time.Duration(e.AtMS * float64(time.Millisecond)))}
	if e.Error != "" {
		p.Err = errors.New(e.Error)
	}
	return p
}

// start returns when the callers shall start a load. The only caller of a block, if it is on this machine, has the same
// clock and can start as soon as it is asked. Then the first call of an open loop would be late, because the caller has
// just been asleep, and that of a program in another language, which first reads the load.
func (l loader) start(ctx context.Context, load pace.Spec) (time.Time, error) {
	switch {
	case l.block && l.callers.isOneLocal() && load.Rate == nil && l.trial.library.language() == language.Go:
		return time.Now(), nil
	case l.block && l.callers.isOneLocal():
		return time.Now().Add(blockStartDelay), nil
	case l.block:
		return l.callers.readClocks(ctx, blockStartDelay)
	}
	return l.callers.readClocks(ctx, startDelay)
}

// failedTrial returns an error for an interrupt, which ends the run. Any other error is a finding
// of the trial.
func failedTrial(ctx context.Context, measured result.Trial, err error) (result.Trial, error) {
	if ctx.Err() != nil {
		return measured, ctx.Err()
	}
	measured.Failed = err.Error()
	return measured, nil
}

func addLost(measured *result.Trial, lost []string) {
	for _, what := range lost {
		if !slices.Contains(measured.Lost, what) {
			measured.Lost = append(measured.Lost, what)
		}
	}
}
