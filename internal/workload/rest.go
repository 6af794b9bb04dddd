package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"rpclab/internal/security"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// BackendHeader is the HTTP header in which every response carries the identity of its backend.
const BackendHeader = "Rpclab-Backend"

const healthPath = "/healthz"

// maxBodyBytes is the largest request, enough for an order of [LargestOrder] articles.
const maxBodyBytes = 16 << 20

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
	mux.Handle("POST /increase", post(s, chain{}.Increase))
	mux.Handle("POST /orders", post(s, orders{delay: s.Delay, spread: s.Spread}.PlaceOrder))
	mux.HandleFunc("GET "+healthPath, func(w http.ResponseWriter, r *http.Request) {
		answer, err := s.health.Check(r.Context(), &healthv1.HealthCheckRequest{})
		if err != nil || answer.Status != healthv1.HealthCheckResponse_SERVING {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, answer.GetStatus())
	})
	guarded := s.requireToken(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(BackendHeader, s.ID)
		guarded.ServeHTTP(w, r)
	})
}

// post answers requests of one path. The generated messages have the field names of the protobuf
// files as JSON tags.
func post[Q, A any](server *Server, do func(context.Context, *Q) (*A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := read[Q](http.MaxBytesReader(w, r.Body, maxBodyBytes))
		if err != nil {
			writeError(w, status.Errorf(codes.InvalidArgument, "the body is not valid JSON for %s: %v", r.URL.Path, strings.TrimPrefix(err.Error(), "json: ")))
			return
		}
		end, err := server.beginCall(r.Context())
		if err != nil {
			writeError(w, err)
			return
		}
		answer, err := do(r.Context(), request)
		if late := end(); err == nil {
			err = late
		}
		if err != nil {
			writeError(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // the client may be gone
	})
}

// read decodes a body that contains exactly one JSON object.
func read[Q any](body io.Reader) (*Q, error) {
	var request *Q
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return nil, err
	}
	if request == nil {
		return nil, errors.New("the body is null")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("there is data after the JSON object")
	}
	return request, nil
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

// writeError sends an error as JSON, with the HTTP status nearest to its code.
func writeError(w http.ResponseWriter, err error) {
	failure := status.Convert(err)
	code := http.StatusInternalServerError
	switch failure.Code() {
	case codes.InvalidArgument, codes.OutOfRange:
		code = http.StatusBadRequest
	case codes.Unauthenticated:
		code = http.StatusUnauthorized
	case codes.Unavailable:
		code = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": failure.Message()})
}
