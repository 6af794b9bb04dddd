package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/result"
	"rpclab/internal/route/component"
)

// performEvents performs the events of a trial whose load starts at start, in a goroutine, and
// reports each. The returned function cancels the remaining events and returns all of them.
func performEvents(ctx context.Context, bed testbed, events []experiment.Event, start time.Time, report func(result.Event)) func() []analysis.PerformedEvent {
	ctx, cancel := context.WithCancel(ctx)
	var all []analysis.PerformedEvent
	var done sync.WaitGroup
	done.Go(func() {
		for _, e := range events {
			select {
			case <-time.After(time.Until(start.Add(e.At))):
				p := analysis.PerformedEvent{Event: e, Time: time.Now()}
				p.Backends, p.Err = performEvent(ctx, bed, e)
				if e.KillProxy && p.Err == nil {
					p.Restarted = time.Now()
				}
				all = append(all, p)
				report(p.Result(start))
			case <-ctx.Done():
				all = append(all, analysis.PerformedEvent{Event: e, Time: start.Add(e.At), Err: errTooLate})
			}
		}
	})
	return func() []analysis.PerformedEvent {
		cancel()
		done.Wait()
		return all
	}
}

// outOfReach returns the error of the first event that could not reach the servers; nil: all could. A trial without its
// kill would show that a kill costs nothing.
func outOfReach(performed []analysis.PerformedEvent) error {
	for _, p := range performed {
		if errors.Is(p.Err, cluster.ErrOutOfReach) {
			return p.Err
		}
	}
	return nil
}

// errTooLate is the error of an event that was due after the end of its load.
var errTooLate = errors.New("the load ended before the event")

// performEvent performs an event and returns the identities of the backends that it affected.
func performEvent(ctx context.Context, bed testbed, e experiment.Event) ([]string, error) {
	servers := bed.servers
	switch {
	case e.Scale > 0:
		return servers.Scale(ctx, e.Scale)
	case e.Kill > 0:
		return servers.Kill(ctx, e.Kill)
	case e.Pause > 0:
		return servers.Pause(ctx, e.Pause)
	case e.Resume:
		return nil, servers.Resume(ctx)
	case e.Slow != nil:
		return servers.Slow(ctx, e.Slow.Backends, e.Slow.By, e.Slow.Times)
	case e.Stop > 0:
		return servers.Stop(ctx, e.Stop)
	case e.Fail != nil:
		return servers.Fail(ctx, e.Fail.Backends, e.Fail.Code, float64(e.Fail.Share)/100)
	case e.Flap != nil:
		return servers.Flap(ctx, e.Flap.Backends, e.Flap.Every)
	case e.Roll:
		return servers.Rollout(ctx, nil)
	case e.RollTo != "":
		next := bed.versions[e.RollTo]
		return servers.Rollout(ctx, &next)
	case e.Cut != nil:
		return servers.Cut(ctx, e.Cut.Backends, e.Cut.How == "reset")
	case e.Drain > 0 || e.Cordon > 0:
		return performOnNodes(ctx, servers, e)
	case e.DNS != nil:
		return nil, servers.SetDNSFault(e.DNS.Delay, e.DNS.Lie)
	case e.Recover:
		return nil, servers.Recover(ctx)
	case e.KillProxy:
		return nil, bed.kill(ctx, component.Proxy)
	case e.KillControl:
		return nil, bed.kill(ctx, component.ControlPlane)
	}
	return nil, fmt.Errorf("event %q names no action", e)
}

func performOnNodes(ctx context.Context, servers cluster.Deployment, e experiment.Event) ([]string, error) {
	nodes, ok := servers.(cluster.Nodes)
	if !ok {
		return nil, fmt.Errorf("%s: this cluster has no nodes", e)
	}
	if e.Drain > 0 {
		return nodes.Drain(ctx, e.Drain)
	}
	return nodes.Cordon(ctx, e.Cordon)
}
