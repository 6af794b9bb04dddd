package workload

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxBodyBytes is the largest request, enough for an order of [LargestOrder] articles.
const maxBodyBytes = 16 << 20

// post answers requests of one path. The generated messages have the field names of the protobuf
// files as JSON tags.
func post[Q, A any](server *Server, do func(context.Context, *Q) (*A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := read[Q](http.MaxBytesReader(w, r.Body, maxBodyBytes))
		if err != nil {
			writeError(w, status.Errorf(codes.InvalidArgument, "the body is not valid JSON for %s: %v", r.URL.Path, strings.TrimPrefix(err.Error(), "json: ")))
			return
		}
		server.answer(w, r, func(ctx context.Context) (any, error) { return do(ctx, request) })
	})
}

// answer counts the call and writes what do returns as JSON.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, do func(context.Context) (any, error)) {
	end, err := s.beginCall(r.Context())
	if err != nil {
		writeError(w, err)
		return
	}
	answer, err := do(r.Context())
	if late := end(); err == nil {
		err = late
	}
	if err != nil {
		writeError(w, err)
		return
	}
	text, err := json.Marshal(answer)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client may be gone
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
