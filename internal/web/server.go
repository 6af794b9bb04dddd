package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// Options configure a server.
type Options struct {
	Store *result.Store // nil: only the run that is followed is shown
	// Experiments that the page offers to start, in this order.
	Experiments []Experiment
	// Services that the page offers to measure in place of rpclab's own servers.
	Services []Service
	// Draft returns a service file of the methods at an address; nil: the page cannot call addresses.
	Draft func(ctx context.Context, address string) ([]byte, error)
	// Conduct conducts a run and reports its progress to watch; nil: the page cannot start runs.
	Conduct func(ctx context.Context, run Run, watch func(lab.Progress)) (result.Document, error)
	// Watch observes every run; may be nil.
	Watch Watcher
	Token string // secret of clients; empty: clients on this machine need none
	Hosts []string
	Log   *slog.Logger
}

// Watcher observes runs one after the other, each from [Watcher.Begin] to [Watcher.End].
type Watcher interface {
	Begin(plan experiment.Plan, id string)
	Show(lab.Progress)
	End(result.Document, error)
}

// Experiment is a document that the page offers under its name.
type Experiment struct {
	Name    string
	RunName string // argument of `rpclab run`
	File    string // name in errors
	Doc     []byte
}

// Service is a service file that the page offers.
type Service struct {
	Name     string
	Document experiment.ServiceDocument
	Calls    []string
}

// Server serves the page and its API. Close stops its run.
type Server struct {
	Options
	live    *live
	queue   *queue
	pages   *pages
	logins  *logins
	answers answers
}

// Follow shows a run that the caller conducts; the page calls stop to stop it. Call show with
// the progress of the run, and end when it has ended.
func (s *Server) Follow(plan experiment.Plan, id string, stop context.CancelFunc) (show func(lab.Progress), end func(result.Document, error)) {
	watchers := []Watcher{s.live}
	if s.Watch != nil {
		watchers = append(watchers, s.Watch)
	}
	s.live.setCancel(stop)
	for _, w := range watchers {
		w.Begin(plan, id)
	}
	show = func(p lab.Progress) {
		for _, w := range watchers {
			w.Show(p)
		}
	}
	return show, func(d result.Document, err error) {
		for _, w := range watchers {
			w.End(d, err)
		}
	}
}

// maxRunTime is the time after which a run is stopped.
const maxRunTime = 4 * time.Hour

// conduct conducts a run that a page started, and shows it.
func (s *Server) conduct(ctx context.Context, run *Run) {
	ctx, stop := context.WithTimeout(ctx, maxRunTime)
	defer stop()
	if run.queued {
		s.live.keepFailed()
	} else {
		s.live.forgetFailed() // who started this run has seen them
	}
	show, end := s.Follow(run.Plan.Plan, run.ID, stop)
	d, err := s.Conduct(ctx, *run, show)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("the run was stopped after the limit of %v", maxRunTime)
	}
	end(d, err)
}
