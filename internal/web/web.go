// Package web serves the page that shows runs in progress and stored runs, and its API, which GET
// /api/v1/openapi.json describes. The Conduct function of its [Options] conducts runs.
package web

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/report/html"
	"rpclab/internal/result"
)

// New creates a server. It returns the errors of invalid experiments.
func New(o Options) (*Server, error) {
	s := &Server{Options: o, live: newLive(), pages: newPages(), logins: newLogins(), answers: answers{known: map[string]answer{}}}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	for _, e := range o.Experiments {
		if _, err := experiment.Read(e.File, e.Doc, lab.Vocabulary()); err != nil {
			return nil, err
		}
	}
	s.queue = newQueue(s.conduct, s.live.setQueue)
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
	for pattern, handle := range map[string]func(*http.Request) (any, error){
		"GET /api/v1/openapi.json":      s.openapi,
		"GET /api/v1/experiments":       s.experiments,
		"GET /api/v1/services":          s.services,
		"POST /api/v1/services/draft":   s.draft,
		"GET /api/v1/runs":              s.runs,
		"GET /api/v1/runs/{id}":         s.run,
		"GET /api/v1/runs/{id}/view":    s.view,
		"GET /api/v1/overview":          s.overview,
		"GET /api/v1/trend":             s.trend,
		"GET /api/v1/compare":           s.compare,
		"GET /api/v1/live":              s.now,
		"POST /api/v1/runs":             s.start,
		"POST /api/v1/runs/{id}/stop":   s.stop,
		"POST /api/v1/runs/{id}/accept": s.accept,
	} {
		api.Handle(pattern, s.respondJSON(handle))
	}
	api.HandleFunc("GET /api/v1/live/events", s.events)
	api.Handle("/api/", s.respondJSON(func(r *http.Request) (any, error) {
		return nil, problem{http.StatusNotFound, "No endpoint " + r.Method + " " + r.URL.Path + "; /api/v1/openapi.json lists the endpoints."}
	}))
	s.addPages(api)
	return s.guard(api)
}

// addPages registers every page. Its script selects the content by the path.
func (s *Server) addPages(mux *http.ServeMux) {
	for _, path := range []string{"/{$}", "/runs", "/trend", "/compare"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			s.pages.write(w, s.pages.shell, http.StatusOK, s.Token != "")
		})
	}
	mux.HandleFunc("GET "+loginPath, func(w http.ResponseWriter, _ *http.Request) { s.pages.logIn(w, http.StatusOK, "") })
	mux.HandleFunc("POST "+loginPath, s.logIn)
	mux.HandleFunc("GET /runs/{id}/report", s.report)
	mux.HandleFunc("POST /runs/{id}/accept", s.acceptByForm)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.pages.write(w, s.pages.broken, http.StatusNotFound, "The page "+r.URL.Path+" does not exist.")
	})
}

// siteOf is what the page adds to a report: links at its head, and the form that accepts a run that failed.
func (s *Server) siteOf(r *http.Request, d result.Document) (html.Site, error) {
	links := []html.Link{{Text: "Experiments", URL: "/"}, {Text: "Runs", URL: "/runs?search=" + url.QueryEscape(d.Experiment)},
		{Text: "Trend", URL: "/trend?experiment=" + url.QueryEscape(d.Experiment)}}
	before, err := s.Store.Before(r.Context(), d.ID)
	if before != "" {
		links = append(links, html.Link{Text: "Compare with the run before", URL: "/compare?run=" + url.QueryEscape(before) + "&run=" + url.QueryEscape(d.ID)})
	}
	site := html.Site{Links: links}
	if d.Conditions == result.ConditionsFailed {
		site.Accept = "/runs/" + url.PathEscape(d.ID) + "/accept"
	}
	return site, err
}

// report serves the report of a run, or a page with the error.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	d, err := s.document(r, r.PathValue("id"))
	if err != nil {
		p := problemOf(err)
		s.pages.write(w, s.pages.broken, p.status, p.detail)
		return
	}
	site, err := s.siteOf(r, d)
	if err != nil {
		s.pages.write(w, s.pages.broken, http.StatusInternalServerError, err.Error())
		return
	}
	var text bytes.Buffer
	if err := html.WriteFor(&text, d, site); err != nil {
		s.pages.write(w, s.pages.broken, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Security-Policy", site.SecurityPolicy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}
