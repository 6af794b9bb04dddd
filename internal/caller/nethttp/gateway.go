package nethttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire/h2"
)

// BackendsHeader is the response header in which a gateway counts a request's calls by backend,
// encoded as a query: greeter-0=4&greeter-1=3.
const BackendsHeader = "Rpclab-Backends"

// gatewayPath returns the gateway's path for a workload.
func gatewayPath(job caller.Job) (string, error) {
	query := url.Values{"iterations": {strconv.Itoa(job.Iterations)}}
	switch spec := job.Workload; {
	case spec.Fibonacci != nil:
		query.Set("fibo_start", strconv.Itoa(spec.Fibonacci.From))
		query.Set("fibo_end", strconv.Itoa(spec.Fibonacci.To))
		return "/fibonacci/random?" + query.Encode(), nil
	case spec.Increment != nil:
		return "/increment?" + query.Encode(), nil
	}
	return "", errors.New("a gateway supports only the workloads fibonacci and increment: set one of them")
}

type gatewaySession struct {
	job    caller.Job
	url    string
	client *http.Transport
	users  *userClients // with a channel per user
}

func (s *gatewaySession) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	recorder, start := caller.RunBatches(ctx, plan, signal, s.job.Late, s.call)
	return recorder, start, nil
}

func (s *gatewaySession) Close() error {
	s.client.CloseIdleConnections()
	s.users.close()
	return nil
}

// call makes one request.
func (s *gatewaySession) call(ctx context.Context, _ uint64) (answered map[string]uint64, code, message string) {
	ctx, cancel := context.WithTimeout(ctx, s.job.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, "INTERNAL", err.Error()
	}
	_, answer, err := send(s.transport(ctx), request)
	if err != nil {
		return nil, caller.TransportCode(err), err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, caller.TransportCode(err), err.Error()
	}
	if answer.StatusCode != http.StatusOK {
		code, message = gatewayError(answer.StatusCode, body)
		return nil, code, message
	}
	if answered, err = s.counts(answer.Header.Get(BackendsHeader)); err != nil {
		return nil, caller.DataLoss, err.Error()
	}
	return answered, measure.OK, ""
}

// counts returns the calls of a request by backend. It fails unless all calls are accounted for.
// The gateway has checked their responses.
func (s *gatewaySession) counts(header string) (map[string]uint64, error) {
	listed, err := url.ParseQuery(header)
	if err != nil {
		return nil, fmt.Errorf("header %s: %w", BackendsHeader, err)
	}
	answered, sum := map[string]uint64{}, uint64(0)
	for id := range listed {
		n, err := strconv.ParseUint(listed.Get(id), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", BackendsHeader, err)
		}
		answered[id], sum = n, sum+n
	}
	if sum != uint64(s.job.Iterations) {
		return nil, fmt.Errorf("%d calls were requested, but %d answered: %s", s.job.Iterations, sum, header)
	}
	return answered, nil
}

// gatewayError returns the gateway's own error, or the meaning of the HTTP status.
func gatewayError(status int, body []byte) (code, message string) {
	var failure struct{ Code, Error string }
	if err := json.Unmarshal(body, &failure); err == nil && failure.Code != "" {
		return failure.Code, failure.Error
	}
	return h2.OfHTTP(status).Name(), fmt.Sprintf("HTTP %d: %.200q", status, body)
}

// userClients are the HTTP clients of a load with a channel per user.
type userClients struct {
	mu  sync.Mutex
	all map[int]*http.Transport
}

// transport returns the client of the calling user, or the shared client.
func (s *gatewaySession) transport(ctx context.Context) *http.Transport {
	user, ok := caller.UserOf(ctx)
	if !ok || s.job.Channels.Mode != caller.PerUser {
		return s.client
	}
	s.users.mu.Lock()
	defer s.users.mu.Unlock()
	if s.users.all == nil {
		s.users.all = map[int]*http.Transport{}
	}
	if s.users.all[user] == nil {
		s.users.all[user] = s.client.Clone()
	}
	return s.users.all[user]
}

func (c *userClients) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, client := range c.all {
		client.CloseIdleConnections()
	}
}
