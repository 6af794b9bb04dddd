package workload

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/security"
)

// BackendHeader is the HTTP header in which every response carries the identity of its backend.
const BackendHeader = "Rpclab-Backend"

const healthPath = "/healthz"

// serveREST serves the workloads as JSON over HTTP/1.1 and cleartext HTTP/2, with the same
// functions as gRPC.
func (s *Server) serveREST(ctx context.Context, listener net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: s.rest(), Protocols: &protocols, ReadHeaderTimeout: 10 * time.Second}
	serve := func(listener net.Listener) error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
	return s.serveUntil(ctx, listener, serve, func() error { return server.Shutdown(context.Background()) })
}

// rest routes the workloads' paths.
func (s *Server) rest() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /greet", post(s, greeter{id: s.ID, delay: s.Delay}.SayHello))
	mux.Handle("POST /fibonacci", post(s, fibonacci{id: s.ID}.Compute))
	s.handleChain(mux)
	if s.Published {
		s.handlePublished(mux)
	} else {
		mux.Handle("POST /orders", post(s, orders{delay: s.Delay, spread: s.Spread}.PlaceOrder))
	}
	mux.HandleFunc("GET "+healthPath, s.answerHealth)
	guarded := s.requireToken(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(BackendHeader, s.ID)
		guarded.ServeHTTP(w, r)
	})
}

// requireToken rejects requests without the token, except health checks.
func (s *Server) requireToken(next http.Handler) http.Handler {
	if s.Token == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != healthPath && !security.HasBearer(r.Header.Get("Authorization"), s.Token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, status.Error(codes.Unauthenticated, "this server requires its token: Authorization: Bearer TOKEN"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
