package lab

import (
	"context"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/process/stdio"
	"rpclab/internal/route"
)

// infrastructureSession runs in the process of `rpclab infrastructure` and starts infrastructure as
// its children.
type infrastructureSession struct {
	self    []string // command line of this program
	running localInfrastructure
	reset   measure.ProcessorTimes // when usage was last reset
}

func (s *infrastructureSession) handlers() []stdio.Handler {
	return []stdio.Handler{
		startMethod.Handle(s.start), killMethod.Handle(s.kill), resetUsageMethod.Handle(s.resetUsage),
		usageMethod.Handle(s.usage), failuresMethod.Handle(s.failures), closeMethod.Handle(s.stop),
	}
}

func (s *infrastructureSession) close() error {
	running := s.running
	s.running = localInfrastructure{}
	return running.close()
}

func (s *infrastructureSession) start(ctx context.Context, spec infrastructureSpec) (state infrastructureState, err error) {
	rt, err := route.Lookup(spec.Route)
	if err != nil {
		return state, err
	}
	state.Versions = map[string]string{}
	if rt.Binary.Name != "" {
		if err := addToolVersion(ctx, rt.Binary, state.Versions); err != nil {
			return state, err
		}
	}
	running, err := startLocalInfrastructure(ctx, s.self, rt, spec)
	if err != nil {
		return state, err
	}
	s.running, s.reset = running, measure.ReadProcessorTimes()
	state.Services, state.Gateway, state.Files = s.running.Services, s.running.gateway, s.running.Files
	return state, nil
}

func (s *infrastructureSession) kill(ctx context.Context, role string) (none stdio.None, err error) {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	return none, s.running.kill(ctx, role)
}

func (s *infrastructureSession) resetUsage(context.Context, stdio.None) (none stdio.None, err error) {
	s.reset = measure.ReadProcessorTimes()
	return none, s.running.resetUsage()
}

func (s *infrastructureSession) usage(context.Context, stdio.None) (map[string]cluster.Usage, error) {
	all := map[string]cluster.Usage{}
	for _, role := range roles {
		all[role], _ = s.running.used(role) // cannot fail for children of this process
	}
	addContainerUsage(all, s.reset)
	return all, nil
}

// addContainerUsage adds how long this container was throttled since a time, and which share of
// its node's processors was stolen. Roles share the container, so it adds all of it to one role.
func addContainerUsage(all map[string]cluster.Usage, since measure.ProcessorTimes) {
	now := measure.ReadProcessorTimes().Since(since)
	for _, role := range roles {
		if u := all[role]; u.MaxRSS > 0 {
			u.Throttled, u.Stolen = now.Throttled, now.StolenShare()
			all[role] = u
			return
		}
	}
}

func (s *infrastructureSession) failures(context.Context, stdio.None) ([]string, error) {
	return s.running.failures(), nil
}

func (s *infrastructureSession) stop(context.Context, stdio.None) (none stdio.None, err error) {
	return none, stdio.Stop(s.close())
}
