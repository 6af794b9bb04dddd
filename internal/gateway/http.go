package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/caller"
	"rpclab/internal/caller/overhttp"
)

// failure is an error as a request is told of it.
type failure struct {
	http    int
	code    string
	message string
}

func (f failure) Error() string { return f.message }

// handle reads a request's parameters and makes its calls.
type handle func(context.Context, *query) (answer, error)

// Handler answers requests.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	var paths []string
	nothing := func(w http.ResponseWriter, r *http.Request) {
		refuse(w, failure{http.StatusNotFound, "UNIMPLEMENTED", fmt.Sprintf(
			"there is no %s %s; there are GET %s, /metrics and /-/ready, and POST /-/reset", r.Method, r.URL.Path, strings.Join(paths, ", "))})
	}
	for _, at := range []struct {
		path string
		do   handle
	}{
		{"/fibonacci", g.fibonacci},
		{"/fibonacci/random", g.fibonacciRandom},
		{"/increment", g.increment},
		{"/experiment/client", g.burst},
	} {
		paths = append(paths, at.path)
		mux.Handle("GET "+at.path, g.calls(at.do))
		mux.HandleFunc("HEAD "+at.path, nothing) // GET would take it, and make calls for no answer
	}
	mux.HandleFunc("GET /metrics", g.metrics)
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	mux.HandleFunc("POST /-/reset", func(w http.ResponseWriter, _ *http.Request) {
		g.Reset()
		fmt.Fprintln(w, "the counters are 0 again")
	})
	mux.HandleFunc("/", nothing)
	if g.options.Token == "" {
		return mux
	}
	return bearing(g.options.Token, mux)
}

// bearing lets those through who bear the token.
func bearing(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, failure{http.StatusUnauthorized, "UNAUTHENTICATED", "this gateway needs a token: send Authorization: Bearer …"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Gateway) calls(do handle) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, err := g.answer(r, do)
		// Who does not read the answer must not keep it here.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
		if err != nil {
			refuse(w, err)
			return
		}
		w.Header().Set(overhttp.Backends, header(a.backends))
		if text, ok := a.body.(string); ok {
			fmt.Fprint(w, text)
			return
		}
		tell(w, http.StatusOK, a.body)
	})
}

// answer makes a request's calls. Its place and its turn are free again before anybody
// reads the answer.
func (g *Gateway) answer(r *http.Request, do handle) (answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	done, err := g.admit(ctx)
	if err != nil {
		return answer{}, err
	}
	defer done()
	return do(ctx, newQuery(r))
}

// refuse says what went wrong, in JSON: {"error", "code"}.
func refuse(w http.ResponseWriter, err error) {
	var f failure
	if !errors.As(err, &f) {
		code := status.FromContextError(err).Code()
		if s, ok := status.FromError(err); ok {
			code = s.Code()
		}
		f = failure{httpStatus(code), caller.Code(status.Error(code, "")), err.Error()}
	}
	tell(w, f.http, map[string]string{"error": f.message, "code": f.code})
}

// httpStatus is the nearest to a gRPC code.
func httpStatus(code codes.Code) int {
	switch code {
	case codes.InvalidArgument, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	case codes.Unavailable, codes.ResourceExhausted:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadGateway
}

func tell(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone is none
}
