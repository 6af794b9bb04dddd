// Package web serves the page that shows runs in progress and stored runs, and its API, which GET
// /api/v1/openapi.json describes. The Conduct function of its [Options] conducts runs.
package web

import (
	"context"
	"log/slog"
	"net/http"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// Options configure a server.
type Options struct {
	Store *result.Store // nil: only the run that is followed is shown
	// Experiments that the page offers to start, in this order.
	Experiments []Experiment
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

// Run is a run that a page started.
type Run struct {
	ID      string
	Plan    lab.Plan
	Command string // command line that makes the same run
}

// Server serves the page and its API. Close stops its run.
type Server struct {
	Options
	live  *live
	queue *queue
	pages *pages
}

// New creates a server. It returns the errors of invalid experiments.
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

// Close stops the run in progress, waits until it is stored, and closes the connections of its
// followers.
func (s *Server) Close() {
	s.queue.close()
	s.live.close()
}

// Handler returns the handler of all requests, behind one guard.
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
		return nil, problem{http.StatusNotFound, "No endpoint " + r.Method + " " + r.URL.Path + "; /api/v1/openapi.json lists the endpoints."}
	}))
	s.addPages(api)
	return s.guard(api)
}

// Follow shows a run that the caller conducts; the page calls stop to stop it. The returned
// functions take its progress and its end.
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
