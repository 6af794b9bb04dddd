package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"rpclab/internal/result"
)

// problem is the error of a request, in the form of RFC 9457.
type problem struct {
	status int
	detail string // the error and what to do
}

func (p problem) Error() string { return p.detail }

// accepted is an answer with status 202.
type accepted struct{ any }

// answering writes the result of a handler as JSON.
func (s *Server) answering(ask func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		answer, err := ask(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		if later, ok := answer.(accepted); ok {
			answer, status = later.any, http.StatusAccepted
		}
		text, err := encode(answer)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(text) // an error means that the client is gone
	})
}

// encode writes a value as JSON, and a result document in its canonical form.
func encode(answer any) ([]byte, error) {
	var text bytes.Buffer
	if d, ok := answer.(result.Document); ok {
		err := result.Write(&text, d)
		return text.Bytes(), err
	}
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	err := out.Encode(answer)
	return text.Bytes(), err
}

// refuse answers with application/problem+json. It logs errors of the server, without the query,
// which might contain a secret.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.status >= 500 {
		s.Log.Error("web", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	text, err := json.Marshal(struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(p.status), p.status, p.detail})
	if err != nil {
		text = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.status)
	_, _ = w.Write(text)
}

// problemOf maps an error to an HTTP status.
func problemOf(err error) problem {
	var p problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, result.ErrUnknownRun):
		return problem{http.StatusNotFound, err.Error()}
	case errors.Is(err, result.ErrSchema), errors.Is(err, result.ErrUnreadable):
		return problem{http.StatusUnprocessableEntity, err.Error()}
	}
	return problem{http.StatusInternalServerError, err.Error()}
}
