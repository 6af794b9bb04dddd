package web

import (
	"bytes"
	"encoding/json"
	"net/http"

	"rpclab/internal/result"
)

// accepted is a response with status 202.
type accepted struct{ any }

// respondJSON writes the result of a handler as JSON.
func (s *Server) respondJSON(handle func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		response, err := handle(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		if later, ok := response.(accepted); ok {
			response, status = later.any, http.StatusAccepted
		}
		text, err := encode(response)
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
func encode(response any) ([]byte, error) {
	var text bytes.Buffer
	if d, ok := response.(result.Document); ok {
		err := result.Write(&text, d)
		return text.Bytes(), err
	}
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	err := out.Encode(response)
	return text.Bytes(), err
}

// refuse responds with application/problem+json. It logs errors of the server, without the query,
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
