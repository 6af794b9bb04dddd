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
		need, why := filesOf(t.Config)
		if limit > 0 && uint64(need) > limit {
			return fmt.Errorf("%w: arm %s (%s) needs %d in one process, %s; the hard limit here is %d.\n"+
				"Raise it (ulimit -Hn, or LimitNOFILE= of a service), or make the load smaller with --set",
				ErrTooFewFiles, t.Arm, t.Config.Load, need, why, limit)
		}
	}
	return nil
}

// filesOf is the most files that one process of a trial has open at once, and why. A
// backend may get every connection, so it needs as many as the caller.
func filesOf(c experiment.Config) (need int, why string) {
	channels, connections := 1, c.Server.Replicas
	why = fmt.Sprintf("a connection to each of %d backends", c.Server.Replicas)
	switch c.Caller.Channel.Mode {
	case caller.PerCall:
		channels, connections = max(inFlight(c.Load), c.Caller.Warmup), 1
		why = fmt.Sprintf("a connection for each of %d calls at once", channels)
	case caller.Pool:
		channels = c.Caller.Channel.Pool
		why = fmt.Sprintf("%d channels to %d backends", channels, connections)
	}
	if way, err := route.Lookup(c.Route); err == nil && way.Files > 0 {
		connections += way.Files
		why += fmt.Sprintf(" and what the route %s holds for each channel", way.Name)
	}
	return channels*connections + spareFiles, why
}

func inFlight(l experiment.Load) int {
	switch {
	case l.Burst > 0:
		return l.Burst
	case l.Closed != nil:
		return l.Closed.Users
	case l.Open != nil:
		return l.Open.MaxInFlight
	}
	return 1
}
