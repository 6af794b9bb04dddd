package lab

import (
	"errors"
	"fmt"
	"math"

	"rpclab/internal/caller"
	"rpclab/internal/experiment"
	"rpclab/internal/gateway"
	"rpclab/internal/route"
)

// ErrTooFewFiles says that the system lets a process open too few files for a plan.
var ErrTooFewFiles = errors.New("too few open files")

// spareFiles are those a process has open besides its calls' connections: standard
// streams, the runtime's own, listeners, watches, the connections to every backend.
const spareFiles = 64

// checkFiles fails when a trial of the plan needs more open files in one process
// than the system, or a proxy's configuration, allows: better now than as failed calls in mid-run.
func checkFiles(plan experiment.Plan, limit uint64) error {
	for _, t := range plan.Trials {
		need, why := filesOf(t.Config, t.Events)
		if limit > 0 && uint64(need) > limit {
			return fmt.Errorf("%w: arm %s (%s) needs %d in one process, %s; the hard limit here is %d.\n"+
				"Raise it (ulimit -Hn, or LimitNOFILE= of a service), or make the load smaller with --set",
				ErrTooFewFiles, t.Arm, t.Config.Load, need, why, limit)
		}
		if way, _ := route.Lookup(t.Config.Route); way.Connections > 0 && need > way.Connections {
			return fmt.Errorf("%w: arm %s (%s) needs %d in one process, %s; it is configured for %d.\n"+
				"Make the load smaller with --set, such as --set load.open.max_in_flight=1000",
				ErrTooFewFiles, t.Arm, t.Config.Load, need, why, way.Connections)
		}
	}
	return nil
}

// filesOf is the most files that one process of a trial has open at once, and why. A
// backend may get every channel and every call, which no route needs fewer files for:
// several callers count as one that has the channels of all.
func filesOf(c experiment.Config, events []experiment.Event) (need int, why string) {
	d := route.Demand{Channels: c.CallerCount(), Calls: inFlight(c.Load), Backends: c.Server.Replicas, Workers: settingsOf(c).Proxy.Workers}
	for _, e := range events {
		d.Backends = max(d.Backends, e.Scale)
	}
	requests := 0
	switch {
	case c.Gateway != nil: // makes the calls of a request one by one
		requests = d.Calls
		d.Calls = min(d.Calls, gateway.MostAtOnce)
		if channelOf(c) == gateway.PerRequest {
			d.Channels = d.Calls
		}
	case c.Caller.Channel.Mode == caller.PerCall:
		d.Channels = max(d.Calls, c.CallerCount()*c.Caller.Warmup)
	case c.Caller.Channel.Mode == caller.Pool:
		d.Channels *= c.Caller.Channel.Pool
	}
	way, _ := route.Lookup(c.Route) // a name that was checked
	need, why = way.FilesFor(d)
	if requests > 0 {
		why = fmt.Sprintf("for %d requests to the gateway at once, and %s", requests, why)
	}
	return need + requests + spareFiles, why
}

// inFlight is the most calls, or requests to a gateway, that are under way at once.
func inFlight(l experiment.Load) int {
	switch {
	case l.Burst > 0:
		return l.Burst
	case l.Closed != nil:
		return l.Closed.Users
	case l.Open != nil:
		all := l.Open.Rate * l.Open.Duration.Seconds()
		all += 5 * math.Sqrt(all) // as many as are due by chance
		return int(min(math.Ceil(all), float64(l.Open.MaxInFlight)))
	case l.Search != nil:
		return l.Search.MaxInFlight
	}
	return 1
}
