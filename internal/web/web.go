// Package web is the page that shows runs as they happen and those that are kept, and the
// API behind it: GET /api/v1/openapi.json says what there is. It measures nothing: runs
// are conducted by whoever serves it, the same way as from the command line.
package web

import (
	"context"
	"log/slog"
	"net/http"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// Options are what a server needs.
type Options struct {
	Store *result.Store // nil: nothing is kept, and only the run that is followed is shown
	// Experiments can be started, in this order; none: the page only shows.
	Experiments []Experiment
	// Conduct makes a run and tells watch how it goes; nil: nothing can be started.
	Conduct func(ctx context.Context, run Run, watch func(lab.Progress)) (result.Document, error)
	// Watch hears of every run too; may be nil.
	Watch Watcher
	Token string // that who asks has to know; empty: everybody may, on this machine
	Hosts []string
	Log   *slog.Logger
}

// Watcher sees runs, one after the other, each from [Watcher.Begin] to [Watcher.End].
type Watcher interface {
	Begin(plan experiment.Plan, id string)
	Show(lab.Progress)
	End(result.Document, error)
}

// Experiment is a document that can be started by its name.
type Experiment struct {
	Name string
	Said string // by which `rpclab run` knows it
	File string // as errors name it
	Doc  []byte
}

// Run is one that was started from a page.
type Run struct {
	ID      string
	Plan    experiment.Plan
	Command string // that makes the same one
}

// Server answers for the page. Close ends its run.
type Server struct {
	Options
	live  *live
	queue *queue
	pages *pages
}

// New makes a server; errors are those of experiments that cannot be read.
func New(o Options) (*Server, error) {
	s := &Server{Options: o, live: newLive(), pages: newPages()}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	for _, e := range o.Experiments {
		if _, err := experiment.Read(e.File, e.Doc, lab.Vocabulary()); err != nil {
			return nil, err
		}
	}
	s.queue = newQueue(s)
	return s, nil
}

// Close stops the run that goes on, waits until it is kept, and ends every connection that
// follows it.
func (s *Server) Close() {
	s.queue.close()
	s.live.close()
}

// Handler answers requests; all go through the same guard.
func (s *Server) Handler() http.Handler {
	api := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"GET /api/v1/openapi.json":    s.openapi,
		"GET /api/v1/experiments":     s.experiments,
		"GET /api/v1/runs":            s.runs,
		"GET /api/v1/runs/{id}":       s.run,
		"GET /api/v1/trend":           s.trend,
		"GET /api/v1/compare":         s.compare,
		"GET /api/v1/live":            s.now,
		"POST /api/v1/runs":           s.start,
		"POST /api/v1/runs/{id}/stop": s.stop,
	} {
		api.Handle(pattern, s.answering(answer))
	}
	api.HandleFunc("GET /api/v1/live/events", s.events)
	api.Handle("/api/", s.answering(func(r *http.Request) (any, error) {
		return nil, problem{http.StatusNotFound, "There is no " + r.Method + " " + r.URL.Path + "; /api/v1/openapi.json says what there is."}
	}))
	s.addPages(api)
	return s.guard(api)
}

// Follow shows a run that somebody else conducts; stop is what the page can do to it. The
// functions returned take its progress and its end.
func (s *Server) Follow(plan experiment.Plan, id string, stop context.CancelFunc) (show func(lab.Progress), end func(result.Document, error)) {
	watchers := []Watcher{s.live}
	if s.Watch != nil {
		watchers = append(watchers, s.Watch)
	}
	s.live.stoppable(stop)
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
