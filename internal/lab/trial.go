package lab

import (
	"context"
	"fmt"

	"rpclab/internal/result"
)

// runTrial runs one trial: it starts servers, callers and infrastructure, warms the callers up, makes
// the load, performs its events, and summarizes the measurements. An error ends the run. If a caller
// dies, runTrial returns a failed trial and no error: the failure is a result.
func (r *trialRunner) runTrial(ctx context.Context, t trial) (measured result.Trial, err error) {
	if t.target != nil {
		return r.runAtTarget(ctx, t)
	}
	measured = newTrial(t)
	if why := r.builder.programs.missingFor(t); why != "" {
		measured.Failed = fmt.Sprintf("%v: %s", ErrNotRun, why)
		return measured, nil
	}
	if err := r.measureFaultProxy(ctx, t); err != nil {
		return measured, err
	}
	servers, err := r.deploy(ctx, t)
	if err != nil {
		return measured, err
	}
	if t.job.Calls, err = r.completeCalls(ctx, t, servers); err != nil {
		return measured, err
	}
	if t.job.Calls, err = r.throughProxies(t); err != nil {
		return measured, err
	}
	s, err := r.start(ctx, t, servers)
	if err != nil {
		return measured, err
	}
	defer func() {
		if measured.Failed != "" {
			measured.Lost = s.bed.failures() // a possible cause
		}
		measured.Lost = append(measured.Lost, s.close()...)
	}()
	if measured, err = s.prepare(ctx, measured); err == nil {
		measured, err = s.warmUpUntilSteady(ctx, measured)
	}
	if err != nil || measured.Failed != "" {
		return measured, err
	}
	if t.Config.Load.Search != nil {
		return searchCapacity(ctx, t.Trial, measured,
			func(ctx context.Context, o loadRequest) (result.Trial, error) { return s.loader.load(ctx, measured, o) },
			func(step string) { r.progress.doing(t.Trial, step) })
	}
	r.progress.measuring()
	if measured, err = s.loader.load(ctx, measured, loadRequest{Pace: t.load}); err != nil && ctx.Err() != nil && measured.Calls+measured.Dropped == 0 {
		measured.Failed = s.loader.callers.live.interrupted()
	}
	return measured, err
}
