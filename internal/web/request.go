package web

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"rpclab/internal/experiment"
)

// maxBody is the largest request, in bytes.
const maxBody = 32 << 10

// startRequest is the body of a request to start a run.
type startRequest struct {
	Experiment string   `json:"experiment"`
	Arms       []string `json:"arms"`
	Rounds     int      `json:"rounds"` // 0: as the experiment says
	Quick      bool     `json:"quick"`
	Seed       *uint64  `json:"seed"` // nil: drawn
	// Service is the name of an offered service, and ServiceText the text of a service file; both empty:
	// rpclab's own servers.
	Service     string `json:"service"`
	ServiceText string `json:"service_text"`
	// Call is the name of the service's call, Mix has several with their shares, and Flow several in their
	// order; all empty: the first call.
	Call string         `json:"call"`
	Mix  experiment.Mix `json:"mix"`
	Flow []string       `json:"flow"`
	// Rate (calls/s) and DurationS (seconds) are those of the experiment load.
	Rate      float64 `json:"rate"`
	DurationS float64 `json:"duration_s"`
}

// readBody reads a request whose body is one JSON object.
func readBody(r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return problem{http.StatusUnsupportedMediaType, "Send the request as application/json."}
	}
	in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody))
	in.DisallowUnknownFields()
	if err := in.Decode(into); err != nil {
		return problem{http.StatusBadRequest, "The request cannot be read: " + err.Error() + "."}
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return problem{http.StatusBadRequest, "The request must be one JSON object; more data follows it."}
	}
	return nil
}
