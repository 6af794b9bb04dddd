package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rpclab/internal/caller/nethttp"
	"rpclab/internal/security"
)

// handlerFunc reads a request's parameters and makes its calls.
type handlerFunc func(context.Context, *query) (response, error)

// Handler returns the gateway's HTTP interface.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	var paths []string
	notFound := func(w http.ResponseWriter, r *http.Request) {
		writeError(w, httpError{http.StatusNotFound, "UNIMPLEMENTED", fmt.Sprintf(
			"unknown request %s %s: use GET %s, /metrics or /-/ready, or POST /-/reset", r.Method, r.URL.Path, strings.Join(paths, ", "))})
	}
	for _, at := range []struct {
		path string
		do   handlerFunc
	}{
		{"/fibonacci", g.fibonacci},
		{"/fibonacci/random", g.fibonacciRandom},
		{"/increment", g.increment},
		{"/experiment/client", g.burst},
		{"/", g.burst}, // the path in the README of the study
	} {
		paths = append(paths, at.path)
		pattern := at.path
		if pattern == "/" {
			pattern = "/{$}" // and no path below
		}
		mux.Handle("GET "+pattern, g.handler(at.do))
		mux.HandleFunc("HEAD "+pattern, notFound) // otherwise GET would match HEAD and make calls
	}
	mux.HandleFunc("GET /metrics", g.metrics)
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	mux.HandleFunc("POST /-/reset", func(w http.ResponseWriter, _ *http.Request) {
		g.Reset()
		fmt.Fprintln(w, "grpc_requests_total reset to 0")
	})
	mux.HandleFunc("/", notFound)
	if g.options.Token == "" {
		return mux
	}
	return requireToken(g.options.Token, mux)
}

// requireToken rejects requests without the bearer token.
func requireToken(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !security.HasBearer(r.Header.Get("Authorization"), token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, httpError{http.StatusUnauthorized, "UNAUTHENTICATED", "this gateway needs a token: send Authorization: Bearer …"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Gateway) handler(do handlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := g.respond(r, do)
		// A client that does not read the response must not block the handler forever.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
		if err != nil {
			writeError(w, err)
			return
		}
		w.Header().Set(nethttp.BackendsHeader, encodeBackends(answer.backends))
		if text, ok := answer.body.(string); ok {
			fmt.Fprint(w, text)
			return
		}
		writeJSON(w, http.StatusOK, answer.body)
	})
}

// respond makes a request's calls. It does not send the response, so that the next request can run before a
// slow client has read it.
func (g *Gateway) respond(r *http.Request, do handlerFunc) (response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	done, err := g.admit(ctx)
	if err != nil {
		return response{}, err
	}
	defer done()
	return do(ctx, newQuery(r))
}

func (g *Gateway) metrics(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(g.counters.Load().registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}
