package overhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

// direct makes calls of a REST service: each is a POST of JSON.
type direct struct {
	session
	calls workload.Unary
	body  []byte // of every call; nil: each has its own
}

func openDirect(s session) (*direct, error) {
	calls, err := s.job.Workload.Unary()
	if err != nil {
		return nil, err
	}
	if calls.Path == "" {
		return nil, errors.New("the workload is served by gRPC alone: take greet, fibonacci, increase or orders")
	}
	d := &direct{session: s, calls: calls}
	d.url += calls.Path
	if calls.Same {
		d.body, err = json.Marshal(calls.Request(0))
	}
	return d, err
}

func (d *direct) Run(ctx context.Context, p pace.Pace, cue measure.Cue) (*measure.Recorder, time.Time, error) {
	recorder, start := caller.Drive(ctx, p, cue, d.job.Late, d.ask, nil)
	return recorder, start, nil
}

// ask makes one call.
func (d *direct) ask(ctx context.Context, n uint64) (backend, code, message string) {
	ctx, cancel := context.WithTimeout(ctx, d.job.Timeout)
	defer cancel()
	answer, err := d.post(ctx, n)
	if err != nil {
		return "", codeOf(err), err.Error()
	}
	defer answer.Body.Close()
	backend = answer.Header.Get(workload.Header)
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return backend, codeOf(err), err.Error()
	}
	if answer.StatusCode != http.StatusOK {
		why := caller.Refused(answer.StatusCode, body)
		return backend, why.Name(), why.Message
	}
	reply := d.calls.Reply()
	if err := d.check(n, body, reply, backend); err != nil {
		return backend, "DATA_LOSS", err.Error()
	}
	return backend, measure.OK, ""
}

func (d *direct) post(ctx context.Context, n uint64) (*http.Response, error) {
	body, err := d.body, error(nil)
	if body == nil {
		if body, err = json.Marshal(d.calls.Request(n)); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return d.transport(ctx).RoundTrip(request)
}

func (d *direct) check(n uint64, body []byte, reply proto.Message, backend string) error {
	if err := json.Unmarshal(body, reply); err != nil {
		return fmt.Errorf("the answer is not the JSON of %T: %w", reply, err)
	}
	return d.calls.Check(n, reply, backend)
}
