package lab

import (
	"errors"
	"fmt"

	"rpclab/internal/caller"
	"rpclab/internal/experiment"
	"rpclab/internal/route"
)

// ErrTooFewFiles says that the system lets a process open too few files for a plan.
var ErrTooFewFiles = errors.New("too few open files")

// spareFiles are those a process has open besides its calls' connections: standard
// streams, the runtime's own, listeners, watches, the connections to every backend.
const spareFiles = 64

// checkFiles fails when a trial of the plan needs more open files in one process
// than the system allows: better now than as failed calls in mid-run.
func checkFiles(plan experiment.Plan, limit uint64) error {
	for _, t := range plan.Trials {
		need, why := filesOf(t.Config, t.Events)
		if limit > 0 && uint64(need) > limit {
			return fmt.Errorf("%w: arm %s (%s) needs %d in one process, %s; the hard limit here is %d.\n"+
				"Raise it (ulimit -Hn, or LimitNOFILE= of a service), or make the load smaller with --set",
				ErrTooFewFiles, t.Arm, t.Config.Load, need, why, limit)
		}
	}
	return nil
}

// filesOf is the most files that one process of a trial has open at once, and why. A
// channel along a route that follows has a connection to every backend, another one
// connection. A backend may get every channel, so it needs as many as they are.
func filesOf(c experiment.Config, events []experiment.Event) (need int, why string) {
	channels := 1
	switch c.Caller.Channel.Mode {
	case caller.PerCall:
		channels = max(inFlight(c.Load), c.Caller.Warmup)
	case caller.Pool:
		channels = c.Caller.Channel.Pool
	}
	connections := 1
	way, _ := route.Lookup(c.Route) // a name that was checked
	if way.Follows {
		connections = c.Server.Replicas
		for _, e := range events {
			connections = max(connections, e.Scale)
		}
	}
	why = fmt.Sprintf("for %d channels at once with %d connections each", channels, connections)
	return channels*(connections+way.Files) + spareFiles, why
}

func inFlight(l experiment.Load) int {
	switch {
	case l.Burst > 0:
		return l.Burst
	case l.Closed != nil:
		return l.Closed.Users
	case l.Open != nil:
		return l.Open.MaxInFlight
	case l.Search != nil:
		return l.Search.MaxInFlight
	}
	return 1
}
