// Package tcp calls over bare TCP connections: the cost of a call without any protocol.
package tcp

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

// Caller opens one connection for each call in flight. Shared channels keep connections for
// later calls; with a channel per call each connection is closed.
type Caller struct{}

// Open prepares the connections. The target is one address: passthrough:///host:port.
func (Caller) Open(job caller.Job, target caller.Target) (caller.Session, error) {
	calls, err := job.Workload.Unary()
	if err != nil {
		return nil, err
	}
	if job.Workload.Increase == nil {
		return nil, errors.New("the caller tcp supports only the workload increase: set workload to increase")
	}
	channels, err := job.Channels.Count()
	if err != nil {
		return nil, err
	}
	dial := target.Dial
	if dial == nil {
		dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	return &session{
		job: job, calls: calls, dial: dial, keep: channels > 0, addr: strings.TrimPrefix(target.URI, "passthrough:///"),
	}, nil
}

type session struct {
	job   caller.Job
	calls workload.Unary
	dial  func(context.Context, string) (net.Conn, error)
	addr  string
	keep  bool

	mu   sync.Mutex
	idle []net.Conn
}

func (s *session) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	recorder, start := caller.Run(ctx, plan, signal, s.job.Late, s.call)
	return recorder, start, nil
}

// Close closes idle connections. It must not run during a load.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, conn := range s.idle {
		errs = append(errs, conn.Close())
	}
	s.idle = nil
	return errors.Join(errs...)
}

func (s *session) call(ctx context.Context, n uint64) caller.Outcome {
	due := time.Now().Add(s.job.Timeout)
	conn, err := s.acquire(ctx, due)
	if err != nil {
		return caller.Outcome{Code: caller.TransportCode(err), Message: err.Error()}
	}
	keepDeadline := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) }) // cancels the exchange
	answer, err := exchange(conn, due, uint32(n))
	if keepDeadline() && err == nil && s.keep {
		s.release(conn)
	} else {
		_ = conn.Close()
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return caller.Outcome{Code: "CANCELLED", Message: err.Error()}
	case err != nil:
		return caller.Outcome{Code: caller.TransportCode(err), Message: err.Error()}
	case answer.Code() != codes.OK:
		return caller.Outcome{Backend: answer.ID(), Code: caller.Code(status.Error(answer.Code(), "")), Message: "the server answered with this code"}
	}
	if err := s.calls.Check(n, &rpclabv1.Number{Value: answer.Value()}, answer.ID()); err != nil {
		return caller.Outcome{Backend: answer.ID(), Code: caller.DataLoss, Message: err.Error()}
	}
	return caller.Outcome{Backend: answer.ID(), Code: measure.OK}
}

func exchange(conn net.Conn, due time.Time, n uint32) (frame workload.Frame, err error) {
	if err := conn.SetDeadline(due); err != nil {
		return frame, err
	}
	frame = workload.NewFrame(n, codes.OK, "")
	if _, err := conn.Write(frame[:]); err != nil {
		return frame, err
	}
	_, err = io.ReadFull(conn, frame[:])
	return frame, err
}

// acquire returns an idle connection, or opens one.
func (s *session) acquire(ctx context.Context, due time.Time) (net.Conn, error) {
	s.mu.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		conn := s.idle[last]
		s.idle = s.idle[:last]
		s.mu.Unlock()
		return conn, nil
	}
	s.mu.Unlock()
	ctx, cancel := context.WithDeadline(ctx, due)
	defer cancel()
	return s.dial(ctx, s.addr)
}

func (s *session) release(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, conn)
}
