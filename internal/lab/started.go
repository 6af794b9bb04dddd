package lab

import (
	"context"
	"fmt"

	"rpclab/internal/cluster"
	"rpclab/internal/result"
	"rpclab/internal/security"
)

// startedTrial is the callers and the infrastructure of a trial. It can make loads until it is closed.
type startedTrial struct {
	trial      trial
	callers    *callerGroup
	bed        testbed
	identities []security.Config // of the callers
	loader     loader
}

// start starts the callers and the infrastructure of a trial. An error ends the run.
func (r *trialRunner) start(ctx context.Context, t trial, servers cluster.Deployment) (s *startedTrial, err error) {
	end := r.progress.phase(t.Trial, PhaseStartCallers)
	defer func() { end(err) }()
	t = t.endTLS()
	s = &startedTrial{trial: t}
	if s.callers, err = startCallers(ctx, r.builder.cluster, t, r.builder.sidecarArgs(t), r.progress.liveOf(t.Arm)); err != nil {
		return nil, err
	}
	if s.bed, err = r.builder.start(ctx, t, servers, s.callers.sidecars()); err != nil {
		s.callers.kill()
		return nil, err
	}
	s.bed.versions = t.versions
	s.loader = loader{trial: t, callers: s.callers, bed: s.bed, cluster: r.builder.cluster, remote: r.builder.remote, processors: r.processors, otherRuns: r.otherRuns, progress: r.progress}
	if s.identities, err = r.keys.identities(t); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// prepare makes the callers' first calls, and adds what is known before the load to a trial.
func (s *startedTrial) prepare(ctx context.Context, measured result.Trial) (result.Trial, error) {
	measured.Files = s.bed.infrastructure.files()
	if limited, ok := s.bed.servers.(cluster.ResourceLimits); ok {
		measured.Limits = limited.LimitMechanism()
	}
	end := s.loader.progress.phase(s.trial.Trial, PhaseWarmUp)
	err := s.callers.warmUp(ctx, func(n int) assignment { return assign(s.trial, s.bed, n, s.identities[n]) })
	if end(err); err != nil {
		return failedTrial(ctx, measured, err)
	}
	return measured, nil
}

// warmUpUntilSteady makes calls until they are steady, if the experiment asks for that.
func (s *startedTrial) warmUpUntilSteady(ctx context.Context, measured result.Trial) (result.Trial, error) {
	atMost := s.trial.Config.Caller.WarmupMax
	if atMost == 0 || measured.Failed != "" {
		return measured, nil
	}
	s.loader.progress.doing(s.trial.Trial, "warming up until rate and latency are steady")
	end := s.loader.progress.phase(s.trial.Trial, PhaseSettle)
	warm, err := s.callers.warmUpUntilSteady(ctx, steadyRequest{Pace: s.trial.load, AtMost: atMost})
	if end(err); err != nil {
		return failedTrial(ctx, measured, err)
	}
	measured.WarmUp = warm
	return measured, nil
}

// close ends callers and infrastructure, and returns what could not be stopped.
func (s *startedTrial) close() (lost []string) {
	end := s.loader.progress.phase(s.trial.Trial, PhaseStopCallers)
	s.callers.stop() // before the proxies that carry their calls
	err := s.bed.infrastructure.close()
	if end(err); err != nil { // the measurements are valid all the same
		lost = []string{fmt.Sprintf("could not stop everything between callers and backends: %v", err)}
	}
	s.callers.kill()
	return lost
}
