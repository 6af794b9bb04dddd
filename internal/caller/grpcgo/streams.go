package grpcgo

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service"
)

// streamSession holds as many streams as there were messages in flight at once. A stream carries its
// next message after the response to the last one. Free streams are used in turn, so that all streams
// carry the same load.
type streamSession struct {
	session  *session
	messages streamMessages

	mu     sync.Mutex
	free   []*messageStream // least recently used first
	opened uint64
}

func (s *streamSession) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	if s.session.service != nil {
		s.session.service.calls[0].StartLoad()
	}
	endConnecting := s.session.connecting.ofLoad()
	recorder, start := caller.Run(ctx, plan, signal, s.session.job.Late, s.call)
	s.session.background.Wait()
	endConnecting(recorder)
	return recorder, start, nil
}

// Close cancels all streams; none may have a message in flight.
func (s *streamSession) Close() error {
	for stream := s.popFree(); stream != nil; stream = s.popFree() {
		stream.cancel()
	}
	return s.session.Close()
}

func (s *streamSession) call(ctx context.Context, n uint64) caller.Outcome {
	ctx, cancel := context.WithTimeout(ctx, s.session.job.Timeout)
	defer cancel()
	for {
		backend := ""
		stream, wait, err := s.acquire(ctx, n)
		if err == nil {
			backend, err = s.exchange(ctx, stream, n)
		}
		switch {
		case err == nil:
			s.release(stream)
			return caller.Outcome{Backend: backend, Code: measure.OK, Wait: wait}
		case errors.Is(err, errNotSent):
			continue // try another stream; the message was not sent
		case ctx.Err() != nil:
			err = status.FromContextError(ctx.Err()).Err()
		case isCheckError(err):
			s.release(stream)
			return caller.Outcome{Code: service.CheckFailed, Message: err.Error(), Wait: wait}
		case errors.Is(err, errWrongResponse):
			return caller.Outcome{Code: caller.DataLoss, Message: err.Error(), Wait: wait}
		}
		return failed(err, wait)
	}
}

var errNotSent = errors.New("the stream ended while it was idle")

// acquire returns a free stream that is not due for renewal, or opens a stream; for wait see [NewStream].
func (s *streamSession) acquire(ctx context.Context, n uint64) (free *messageStream, wait time.Duration, err error) {
	renew := s.session.job.Stream.Renew
	for {
		stream := s.popFree()
		switch {
		case stream == nil:
			return s.open(ctx, n)
		case renew == 0 || time.Since(stream.openedAt) < renew:
			return stream, 0, nil
		}
		s.session.background.Go(func() { s.close(stream) })
	}
}

func (s *streamSession) popFree() *messageStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil
	}
	oldest := s.free[0]
	s.free = s.free[1:]
	return oldest
}

func (s *streamSession) release(stream *messageStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, stream)
}

// open opens a stream for message n before ctx ends. The stream outlives ctx.
func (s *streamSession) open(ctx context.Context, n uint64) (opened *messageStream, wait time.Duration, err error) {
	s.mu.Lock()
	channel := s.session.channels[s.opened%uint64(len(s.session.channels))]
	s.opened++
	s.mu.Unlock()
	opened = &messageStream{openedAt: time.Now()}
	var streamContext context.Context
	streamContext, opened.cancel = context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, opened.cancel)()
	opened.ClientStream, wait, err = s.messages.open(streamContext, channel, n)
	if err != nil {
		opened.cancel()
		return nil, wait, err
	}
	return opened, wait, nil
}

// exchange sends message n and waits for its response. It cancels a stream that fails.
func (s *streamSession) exchange(ctx context.Context, stream *messageStream, n uint64) (backend string, err error) {
	defer context.AfterFunc(ctx, stream.cancel)()
	defer func() {
		if err != nil && !isCheckError(err) {
			stream.cancel()
		}
	}()
	request, err := s.messages.request(n)
	if err != nil {
		return "", err
	}
	switch err := stream.SendMsg(request); {
	case errors.Is(err, io.EOF) && stream.answered:
		return "", errNotSent
	case err != nil && !errors.Is(err, io.EOF): // RecvMsg returns the cause
		return "", err
	}
	backend, err = s.messages.receive(stream, n)
	if err != nil {
		return "", err
	}
	stream.answered, stream.backend = true, backend
	return backend, nil
}

// isCheckError reports whether a response does not meet the check of its call. The stream can continue.
func isCheckError(err error) bool {
	_, failed := errors.AsType[service.CheckError](err)
	return failed
}

// close half-closes a stream and waits for its end.
func (s *streamSession) close(stream *messageStream) {
	defer stream.cancel()
	defer time.AfterFunc(s.session.job.Timeout, stream.cancel).Stop()
	if stream.CloseSend() == nil {
		_, _ = s.messages.receive(stream, 0) // returns io.EOF
	}
}
