package nethttp

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

// restSession sends each call as a JSON POST request.
type restSession struct {
	gatewaySession
	calls workload.Unary
	body  []byte // of every call; nil: each call has its own
}

func openREST(base gatewaySession) (*restSession, error) {
	calls, err := base.job.Workload.Unary()
	if err != nil {
		return nil, err
	}
	if calls.Path == "" {
		return nil, errors.New("this workload is served over gRPC only: use greet, fibonacci, increase or orders")
	}
	opened := &restSession{gatewaySession: base, calls: calls}
	opened.url += calls.Path
	if calls.SameRequest {
		opened.body, err = json.Marshal(calls.Request(0))
	}
	return opened, err
}

func (s *restSession) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	recorder, start := caller.Run(ctx, plan, signal, s.job.Late, s.call)
	return recorder, start, nil
}

func (s *restSession) call(ctx context.Context, n uint64) caller.Outcome {
	ctx, cancel := context.WithTimeout(ctx, s.job.Timeout)
	defer cancel()
	answer, err := s.post(ctx, n)
	if err != nil {
		return caller.Outcome{Code: caller.TransportCode(err), Message: err.Error()}
	}
	defer answer.Body.Close()
	backend := answer.Header.Get(workload.BackendHeader)
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return caller.Outcome{Backend: backend, Code: caller.TransportCode(err), Message: err.Error()}
	}
	if answer.StatusCode != http.StatusOK {
		why := caller.RESTStatus(answer.StatusCode, body)
		return caller.Outcome{Backend: backend, Code: why.Name(), Message: why.Message}
	}
	reply := s.calls.Reply()
	if err := s.check(n, body, reply, backend); err != nil {
		return caller.Outcome{Backend: backend, Code: caller.DataLoss, Message: err.Error()}
	}
	return caller.Outcome{Backend: backend, Code: measure.OK}
}

func (s *restSession) post(ctx context.Context, n uint64) (*http.Response, error) {
	body, err := s.body, error(nil)
	if body == nil {
		if body, err = json.Marshal(s.calls.Request(n)); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	_, answer, err := send(s.transport(ctx), request)
	return answer, err
}

func (s *restSession) check(n uint64, body []byte, reply proto.Message, backend string) error {
	if err := json.Unmarshal(body, reply); err != nil {
		return fmt.Errorf("the answer is not a %T in JSON: %w", reply, err)
	}
	return s.calls.Check(n, reply, backend)
}
