package grpcgo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
)

// streamPool holds as many streams as there were messages in flight at once. Each message waits
// for its answer before the stream carries the next. Free streams are used in turn, so that all
// carry the same load.
type streamPool struct {
	session *session

	mu     sync.Mutex
	free   []*stream // least recently used first
	opened uint64
}

// stream is an open stream with at most one message in flight.
type stream struct {
	grpc.ClientStream
	cancel   context.CancelFunc
	openedAt time.Time
	backend  string // known after the first answer
}

func (s *streamPool) call(ctx context.Context, n uint64) (backend, code, message string) {
	ctx, cancel := context.WithTimeout(ctx, s.session.job.Timeout)
	defer cancel()
	for {
		t, err := s.acquire(ctx)
		if err == nil {
			backend, err = s.exchange(ctx, t, n)
		}
		switch {
		case err == nil:
			s.release(t)
			return backend, measure.OK, ""
		case errors.Is(err, errNotSent):
			continue // try another stream; the message was not sent
		case ctx.Err() != nil:
			err = status.FromContextError(ctx.Err()).Err()
		case errors.Is(err, errWrongAnswer):
			return "", caller.DataLoss, err.Error()
		}
		return "", caller.Code(err), err.Error()
	}
}

var (
	errNotSent     = errors.New("the stream ended while it was idle")
	errWrongAnswer = errors.New("wrong answer")
)

// acquire returns a free stream that need not be renewed, or opens one.
func (s *streamPool) acquire(ctx context.Context) (*stream, error) {
	renew := s.session.job.Stream.Renew
	for {
		t := s.popFree()
		switch {
		case t == nil:
			return s.open(ctx)
		case renew == 0 || time.Since(t.openedAt) < renew:
			return t, nil
		}
		s.session.background.Go(func() { s.close(t) })
	}
}

func (s *streamPool) popFree() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil
	}
	t := s.free[0]
	s.free = s.free[1:]
	return t
}

func (s *streamPool) release(t *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, t)
}

// open opens a stream before ctx ends. The stream outlives ctx.
func (s *streamPool) open(ctx context.Context) (*stream, error) {
	s.mu.Lock()
	channel := s.session.channels[s.opened%uint64(len(s.session.channels))]
	s.opened++
	s.mu.Unlock()
	t := &stream{openedAt: time.Now()}
	var own context.Context
	own, t.cancel = context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, t.cancel)()
	var err error
	t.ClientStream, err = channel.NewStream(own, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, s.session.calls.Stream)
	if err != nil {
		t.cancel()
		return nil, err
	}
	return t, nil
}

// exchange sends message n and waits for its answer. It cancels a stream that fails.
func (s *streamPool) exchange(ctx context.Context, t *stream, n uint64) (backend string, err error) {
	defer context.AfterFunc(ctx, t.cancel)()
	defer func() {
		if err != nil {
			t.cancel()
		}
	}()
	switch err := t.SendMsg(s.session.calls.Request(n)); {
	case errors.Is(err, io.EOF) && t.backend != "":
		return "", errNotSent
	case err != nil && !errors.Is(err, io.EOF): // RecvMsg returns the cause
		return "", err
	}
	reply := s.session.calls.Reply()
	if err := t.RecvMsg(reply); err != nil {
		return "", err
	}
	if t.backend == "" {
		header, err := t.Header()
		if err != nil {
			return "", err
		}
		t.backend = backendOf(header)
	}
	if err := s.session.calls.Check(n, reply, t.backend); err != nil {
		return "", fmt.Errorf("%w: %w", errWrongAnswer, err)
	}
	return t.backend, nil
}

// close half-closes a stream and waits for its end.
func (s *streamPool) close(t *stream) {
	defer t.cancel()
	defer time.AfterFunc(s.session.job.Timeout, t.cancel).Stop()
	if t.CloseSend() == nil {
		_ = t.RecvMsg(s.session.calls.Reply()) // returns io.EOF
	}
}

// closeAll cancels all streams; none may have a message in flight.
func (s *streamPool) closeAll() {
	for t := s.popFree(); t != nil; t = s.popFree() {
		t.cancel()
	}
}
