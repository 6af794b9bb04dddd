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

// streams are those of a session: as many as there were messages under way at once. Each
// message is answered before the next one of its stream. Free streams are taken in turn,
// so that all of them carry the same, as where each belongs to somebody.
type streams struct {
	session *session

	mu     sync.Mutex
	free   []*stream // the one that was used longest ago first
	opened uint64
}

// stream is an open one, of one message at a time.
type stream struct {
	grpc.ClientStream
	end     context.CancelFunc
	born    time.Time
	backend string // known from its first answer
}

func (s *streams) call(ctx context.Context, n uint64) (backend, code, message string) {
	ctx, cancel := context.WithTimeout(ctx, s.session.job.Timeout)
	defer cancel()
	for {
		t, err := s.take(ctx)
		if err == nil {
			backend, err = s.exchange(ctx, t, n)
		}
		switch {
		case err == nil:
			s.giveBack(t)
			return backend, measure.OK, ""
		case errors.Is(err, errUnsent):
			continue // with another stream: nothing is lost
		case ctx.Err() != nil:
			err = status.FromContextError(ctx.Err()).Err()
		case errors.Is(err, errWrong):
			return "", "DATA_LOSS", err.Error()
		}
		return "", caller.Code(err), err.Error()
	}
}

var (
	errUnsent = errors.New("the stream ended while it was free")
	errWrong  = errors.New("not the answer")
)

// take is a free stream that is not to be renewed, or a new one.
func (s *streams) take(ctx context.Context) (*stream, error) {
	renew := s.session.job.Stream.Renew
	for {
		t := s.next()
		switch {
		case t == nil:
			return s.open(ctx)
		case renew == 0 || time.Since(t.born) < renew:
			return t, nil
		}
		s.session.after.Go(func() { s.close(t) })
	}
}

func (s *streams) next() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil
	}
	t := s.free[0]
	s.free = s.free[1:]
	return t
}

func (s *streams) giveBack(t *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, t)
}

// open opens a stream; it outlives ctx, in which it has to be open.
func (s *streams) open(ctx context.Context) (*stream, error) {
	s.mu.Lock()
	channel := s.session.channels[s.opened%uint64(len(s.session.channels))]
	s.opened++
	s.mu.Unlock()
	t := &stream{born: time.Now()}
	var own context.Context
	own, t.end = context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, t.end)()
	var err error
	t.ClientStream, err = channel.NewStream(own, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, s.session.calls.Stream)
	if err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// exchange sends message n and waits for its answer. A stream that fails is ended.
func (s *streams) exchange(ctx context.Context, t *stream, n uint64) (backend string, err error) {
	defer context.AfterFunc(ctx, t.end)()
	defer func() {
		if err != nil {
			t.end()
		}
	}()
	switch err := t.SendMsg(s.session.calls.Request(n)); {
	case errors.Is(err, io.EOF) && t.backend != "":
		return "", errUnsent
	case err != nil && !errors.Is(err, io.EOF): // then it is RecvMsg that says why
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
		t.backend = identity(header)
	}
	if err := s.session.calls.Check(n, reply, t.backend); err != nil {
		return "", fmt.Errorf("%w: %w", errWrong, err)
	}
	return t.backend, nil
}

// close ends a stream as a client does that has nothing more to say.
func (s *streams) close(t *stream) {
	defer t.end()
	defer time.AfterFunc(s.session.job.Timeout, t.end).Stop()
	if t.CloseSend() == nil {
		_ = t.RecvMsg(s.session.calls.Reply()) // its end
	}
}

// end ends all streams; none has a message under way.
func (s *streams) end() {
	for t := s.next(); t != nil; t = s.next() {
		t.end()
	}
}
