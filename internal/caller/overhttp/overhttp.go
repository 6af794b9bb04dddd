// Package overhttp is Go's HTTP client. It calls a REST service or, as in study 1, asks
// `rpclab gateway` to make the calls: then one is a request that stands for as many as it makes.
package overhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire/h2"
)

// Backends is the header of a gateway's answer that counts the request's calls by
// backend, in the form of a query: greeter-0=4&greeter-1=3.
const Backends = "Rpclab-Backends"

// Caller opens HTTP clients. Shared channels are connections that are kept; with a channel
// per call every request has its own, as with curl, and with one per user each has a client
// of his own, which keeps its connection.
type Caller struct{}

// Open prepares a client. The target is one address: passthrough:///host:port.
func (Caller) Open(job caller.Job, target caller.Target) (caller.Session, error) {
	if job.Channels.Pool > 1 {
		return nil, errors.New("the caller http has no pool of channels: take shared, per-user, or per-call")
	}
	s := session{job: job, url: "http://" + strings.TrimPrefix(target.URI, "passthrough:///"), users: &clients{}}
	s.client = &http.Transport{ // not by a proxy that the environment names
		DisableKeepAlives: job.Channels.Mode == caller.PerCall, MaxIdleConnsPerHost: 10_000, IdleConnTimeout: time.Minute,
	}
	if target.Dial != nil {
		s.client.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) { return target.Dial(ctx, addr) }
	}
	if job.Iterations == 0 {
		return openDirect(s)
	}
	path, err := pathOf(job)
	if err != nil {
		return nil, err
	}
	s.url += path
	return &s, nil
}

// pathOf is the path that makes a workload's calls.
func pathOf(job caller.Job) (string, error) {
	query := url.Values{"iterations": {strconv.Itoa(job.Iterations)}}
	switch w := job.Workload; {
	case w.Fibonacci != nil:
		query.Set("fibo_start", strconv.Itoa(w.Fibonacci.From))
		query.Set("fibo_end", strconv.Itoa(w.Fibonacci.To))
		return "/fibonacci/random?" + query.Encode(), nil
	case w.Increment != nil:
		return "/increment?" + query.Encode(), nil
	}
	return "", errors.New("a gateway makes the calls of study 1: the workload has to be fibonacci or increment")
}

type session struct {
	job    caller.Job
	url    string
	client *http.Transport
	users  *clients // of users who have one each
}

func (s *session) Run(ctx context.Context, p pace.Pace, cue measure.Cue) (*measure.Recorder, time.Time, error) {
	recorder, start := caller.DriveMany(ctx, p, cue, s.job.Late, s.ask)
	return recorder, start, nil
}

func (s *session) Close() error {
	s.client.CloseIdleConnections()
	s.users.close()
	return nil
}

// ask makes one request.
func (s *session) ask(ctx context.Context, _ uint64) (answered map[string]uint64, code, message string) {
	ctx, cancel := context.WithTimeout(ctx, s.job.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, "INTERNAL", err.Error()
	}
	answer, err := s.transport(ctx).RoundTrip(request)
	if err != nil {
		return nil, codeOf(err), err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, codeOf(err), err.Error()
	}
	if answer.StatusCode != http.StatusOK {
		code, message = failed(answer.StatusCode, body)
		return nil, code, message
	}
	if answered, err = s.counts(answer.Header.Get(Backends)); err != nil {
		return nil, "DATA_LOSS", err.Error()
	}
	return answered, measure.OK, ""
}

// counts are the calls of a request by backend: all of them, or the answer is wrong. What
// they answered was checked by the gateway.
func (s *session) counts(header string) (map[string]uint64, error) {
	listed, err := url.ParseQuery(header)
	if err != nil {
		return nil, fmt.Errorf("the header %s: %w", Backends, err)
	}
	answered, sum := map[string]uint64{}, uint64(0)
	for id := range listed {
		n, err := strconv.ParseUint(listed.Get(id), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the header %s: %w", Backends, err)
		}
		answered[id], sum = n, sum+n
	}
	if sum != uint64(s.job.Iterations) {
		return nil, fmt.Errorf("%d calls were asked for, and %d answered: %s", s.job.Iterations, sum, header)
	}
	return answered, nil
}

// failed is what a gateway says that went wrong; if it was no gateway, what its status means.
func failed(status int, body []byte) (code, message string) {
	var said struct{ Code, Error string }
	if err := json.Unmarshal(body, &said); err == nil && said.Code != "" {
		return said.Code, said.Error
	}
	return h2.OfHTTP(status).Name(), fmt.Sprintf("HTTP %d: %.200q", status, body)
}

// codeOf is the gRPC code that is nearest to what broke a request off.
func codeOf(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "DEADLINE_EXCEEDED"
	case errors.Is(err, context.Canceled):
		return "CANCELLED"
	}
	return "UNAVAILABLE"
}
