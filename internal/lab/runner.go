package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/process/running"
	"rpclab/internal/result"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
	"rpclab/internal/security"
	"rpclab/internal/service"
)

// trialRunner measures trials. It keeps servers from one trial to the next if the experiment allows
// that.
type trialRunner struct {
	builder    infrastructureBuilder
	processors func() measure.ProcessorTimes
	otherRuns  func() []running.Run
	progress   *progress
	keys       keyring
	described  descriptions
	proxyCosts []result.FaultProxy
	loads      int // of a target, made so far

	servers    cluster.Deployment // of the last trial; nil: none
	serversFor string             // the cluster.Spec of servers; empty: no other trial can use them
	serversOf  experiment.Trial   // that started them
}

func newTrialRunner(o Options, seed uint64, built programs, p *progress, tools map[string]string) *trialRunner {
	return &trialRunner{
		builder:    infrastructureBuilder{cluster: o.Cluster, remote: o.Remote, self: o.Self, programs: built, seed: seed, tools: tools},
		processors: o.Processors, otherRuns: o.OtherRuns, progress: p, described: descriptions{},
	}
}

// assign returns the assignment of caller n (from 0).
func assign(t trial, bed testbed, n int, identity security.Config) assignment {
	job := t.job
	if job.Calculator != nil {
		calculator := *job.Calculator
		calculator.Security = identity
		job.Calculator = &calculator
	}
	job.Calls = slices.Clone(job.Calls)
	for i := range job.Calls {
		job.Calls[i].Caller, job.Calls[i].Callers = uint64(n), uint64(t.Config.CallerCount())
	}
	if job.Command != nil {
		command := *job.Command
		command.Caller, command.Callers = uint64(n), uint64(t.Config.CallerCount())
		job.Command = &command
	}
	return assignment{
		Route: t.route.Name, Service: bed.infrastructure.service(n), Settings: t.settings, Gateway: bed.gateway,
		Caller: t.library.name, Job: job, Warmup: t.Config.Caller.Warmup, EachBackend: t.callsEachBackend(),
	}
}

// callsEachBackend reports whether the calls of one caller go to all backends.
func (t trial) callsEachBackend() bool {
	channels, calculator := t.job.Channels.Mode, t.job.Calculator
	switch {
	case t.route.PickedBy != route.PickedByClient, t.policy == settings.PickFirst, t.policy == settings.RingHash:
		return false
	case t.Config.Server.Zones > 1: // an xDS client calls the backends of its own zone
		return false
	case t.Config.Gateway != nil, channels != caller.Shared && channels != caller.Pool:
		return false
	}
	return t.job.Stream == nil && (calculator == nil || calculator.Style == caller.UnaryStream)
}

// deploy starts the trial's servers. It returns those of the last trial if the experiment allows
// that, their configuration is the same and no event has changed them.
func (r *trialRunner) deploy(ctx context.Context, t trial) (servers cluster.Deployment, err error) {
	spec, err := r.serverSpec(t)
	if err != nil {
		return nil, err
	}
	wanted := identityOf(spec)
	if r.servers != nil && r.serversFor == wanted && !t.Config.Server.Fresh && len(t.Events) == 0 {
		return r.servers, nil
	}
	if err := r.release(); err != nil {
		return nil, err
	}
	end := r.progress.phase(t.Trial, PhaseStartServers)
	servers, err = r.builder.cluster.Deploy(ctx, spec)
	if end(err); err != nil {
		return nil, err
	}
	r.servers, r.serversFor, r.serversOf = servers, wanted, t.Trial
	if len(t.Events) > 0 {
		r.serversFor = "" // events change the servers
	}
	return servers, nil
}

// identityOf returns a text that is the same for equal servers.
func identityOf(spec cluster.Spec) string {
	if spec.Program == nil {
		return fmt.Sprint(spec)
	}
	program := *spec.Program
	spec.Program = nil
	return fmt.Sprint(spec, program)
}

// serverSpec returns the trial's servers with their command and keys.
func (r *trialRunner) serverSpec(t trial) (spec cluster.Spec, err error) {
	spec = t.server
	spec.Command = r.builder.programs.commands[t.language.Name]
	if spec.ProxyTLS, err = r.keys.faultProxy(t); err != nil {
		return spec, err
	}
	spec.Security, err = r.keys.server(t.security)
	return spec, err
}

// release removes the servers of the last trial, if there are any.
func (r *trialRunner) release() error {
	if r.servers == nil {
		return nil
	}
	end := r.progress.phase(r.serversOf, PhaseStopServers)
	err := r.servers.Remove()
	end(err)
	r.servers, r.serversFor = nil, ""
	return err
}

// completeCalls returns the calls of a user's service with what the service says of their methods. In a cluster the
// callers ask for that, because this machine may not reach the servers.
func (r *trialRunner) completeCalls(ctx context.Context, t trial, servers cluster.Deployment) ([]service.Spec, error) {
	if r.builder.remote || len(t.job.Calls) == 0 {
		return t.job.Calls, nil
	}
	calls := slices.Clone(t.job.Calls)
	for i := range calls {
		if err := r.described.complete(ctx, &calls[i], servers); err != nil {
			return nil, placed(t.user, err)
		}
		if t.job.Stream == nil {
			continue
		}
		if err := checkMessages(ctx, calls[i]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrService, err)
		}
	}
	if !t.job.Flow {
		return calls, nil
	}
	if _, err := service.CheckFlow(calls); err != nil {
		return nil, placed(t.user, fmt.Errorf("%w: %w", ErrService, err))
	}
	return calls, nil
}

func newTrial(t trial) result.Trial {
	return result.Trial{Round: t.Round, Order: t.Order, Started: time.Now().UTC()}
}
