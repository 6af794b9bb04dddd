package gateway

import (
	"encoding/json"
	"errors"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/caller"
)

// httpError is an error with its HTTP status and gRPC code.
type httpError struct {
	http    int    // status
	code    string // of gRPC
	message string
}

func (e httpError) Error() string { return e.message }

// writeError sends an error as JSON: {"error", "code"}.
func writeError(w http.ResponseWriter, err error) {
	var answer httpError
	if !errors.As(err, &answer) {
		code := status.FromContextError(err).Code()
		if s, ok := status.FromError(err); ok {
			code = s.Code()
		}
		answer = httpError{httpStatus(code), caller.Code(status.Error(code, "")), err.Error()}
	}
	writeJSON(w, answer.http, map[string]string{"error": answer.message, "code": answer.code})
}

// httpStatus returns the HTTP status nearest to a gRPC code.
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

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}
