package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/result"
	"rpclab/internal/route/part"
)

// act is an event that was carried out.
type act struct {
	event experiment.Event
	at    time.Time // just before it was carried out
	hit   []string  // the backends that it was done to
	err   error     // why it could not be
	back  time.Time // when what it killed, and starts again, was ready; zero: it kills none such
}

// stage carries out the events of a trial whose load began at start, in a goroutine.
// tell hears of each as it is done. The function returned ends that and says what was done.
func stage(ctx context.Context, f field, events []experiment.Event, start time.Time, tell func(result.Event)) func() []act {
	ctx, cancel := context.WithCancel(ctx)
	var acts []act
	var done sync.WaitGroup
	done.Go(func() {
		for _, e := range events {
			select {
			case <-time.After(time.Until(start.Add(e.At))):
				done := act{event: e, at: time.Now()}
				done.hit, done.err = perform(ctx, f, e)
				if e.KillProxy && done.err == nil {
					done.back = time.Now()
				}
				acts = append(acts, done)
				tell(done.told(start))
			case <-ctx.Done():
				acts = append(acts, act{event: e, at: start.Add(e.At), err: errTooLate})
			}
		}
	})
	return func() []act {
		cancel()
		done.Wait()
		return acts
	}
}

// told is the act as it is told of while the load goes on.
func (a act) told(start time.Time) result.Event {
	e := result.Event{AtMS: ms(a.at.Sub(start)), What: a.event.String(), Hit: a.hit}
	if a.err != nil {
		e.Error = a.err.Error()
	}
	return e
}

// errTooLate is why an event of a load that ended first was not done.
var errTooLate = errors.New("the load was over before")

// perform carries out an event and returns the identities of the backends that it hit.
func perform(ctx context.Context, f field, e experiment.Event) ([]string, error) {
	servers := f.servers
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
		return servers.Fail(ctx, e.Fail.Backends, e.Fail.Code)
	case e.Flap != nil:
		return servers.Flap(ctx, e.Flap.Backends, e.Flap.Every)
	case e.Roll:
		return servers.Roll(ctx)
	case e.Cut != nil:
		return servers.Cut(ctx, e.Cut.Backends, e.Cut.How == "reset")
	case e.Drain > 0 || e.Cordon > 0:
		return onNodes(ctx, servers, e)
	case e.DNS != nil:
		return nil, servers.MisleadDNS(e.DNS.Delay, e.DNS.Lie)
	case e.Recover:
		return nil, servers.Recover(ctx)
	case e.KillProxy:
		return nil, f.kill(ctx, part.Proxy)
	case e.KillControl:
		return nil, f.kill(ctx, part.Control)
	}
	return nil, fmt.Errorf("event %q does nothing", e)
}

// onNodes does what is done to nodes, where there are some.
func onNodes(ctx context.Context, servers cluster.Deployment, e experiment.Event) ([]string, error) {
	nodes, ok := servers.(cluster.Nodes)
	if !ok {
		return nil, fmt.Errorf("%s: this cluster has no nodes", e)
	}
	if e.Drain > 0 {
		return nodes.Drain(ctx, e.Drain)
	}
	return nodes.Cordon(ctx, e.Cordon)
}

// history remembers every set of endpoints, with the moment it was published.
type history struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	seen   []cluster.Snapshot
}

func follow(endpoints *cluster.Endpoints) *history {
	ctx, cancel := context.WithCancel(context.Background())
	h := &history{cancel: cancel}
	now, _ := endpoints.Now()
	h.seen = append(h.seen, now)
	h.done.Go(func() {
		endpoints.Watch(ctx, func(s cluster.Snapshot) {
			if s.Version > h.seen[len(h.seen)-1].Version {
				h.seen = append(h.seen, s)
			}
		})
	})
	return h
}

// stop ends the watch and gives the sets seen, the first one of before the load.
func (h *history) stop() []cluster.Snapshot {
	h.cancel()
	h.done.Wait()
	return h.seen
}
