package grpcgo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

// session makes each call on its own, over its channels.
type session struct {
	job        caller.Job
	calls      workload.Unary
	service    *serviceCalls // nil: calls of the workload
	attempt    attemptFunc
	uri        string
	options    []grpc.DialOption
	channels   []*grpc.ClientConn // none: a channel per call, or per user
	turn       atomic.Uint64      // of the channels. A load can be a short block, so the next one continues it.
	users      userChannels
	connecting connectTime
	background sync.WaitGroup // work that continues after its call has ended
}

// attemptFunc sends call n over a channel and waits for the response.
type attemptFunc func(ctx context.Context, channel *grpc.ClientConn, n uint64) caller.Outcome

func (s *session) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (recorder *measure.Recorder, start time.Time, err error) {
	endConnecting := s.connecting.ofLoad()
	if s.service == nil {
		recorder, start = caller.Run(ctx, plan, signal, s.job.Late, s.call)
		s.background.Wait()
	} else {
		recorder, start = s.service.run(ctx, plan, signal, s.job.Late, s.call)
		s.background.Wait()
		s.service.end(recorder)
	}
	endConnecting(recorder)
	return recorder, start, nil
}

func (s *session) Close() error {
	var errs []error
	for _, channel := range s.channels {
		errs = append(errs, channel.Close())
	}
	return errors.Join(append(errs, s.users.close())...)
}

// call makes one call. With a channel per call, its latency includes opening the channel, as in
// an application that works that way; the channel is closed after the response, and that CPU
// time counts too. With a channel per user, a user's first call opens the channel.
func (s *session) call(ctx context.Context, n uint64) caller.Outcome {
	ctx, cancel := context.WithTimeout(ctx, s.job.Timeout)
	defer cancel()
	invoke := s.attempt
	if s.job.Hedge != nil {
		invoke = s.hedge
	}
	if len(s.channels) > 0 {
		return invoke(ctx, s.channels[(s.turn.Add(1)-1)%uint64(len(s.channels))], n)
	}
	if user, ok := caller.UserOf(ctx); ok && s.job.Channels.Mode == caller.PerUser {
		channel, err := s.channelOf(user)
		if err != nil {
			return failed(err, 0)
		}
		return invoke(ctx, channel, n)
	}
	channel, err := grpc.NewClient(s.uri, s.options...)
	if err != nil {
		return failed(err, 0)
	}
	defer s.background.Go(func() { _ = channel.Close() })
	return invoke(ctx, channel, n)
}

func (s *session) invoke(ctx context.Context, channel *grpc.ClientConn, n uint64) caller.Outcome {
	reply := s.calls.Reply()
	var trailer metadata.MD
	wait, err := Invoke(ctx, channel, protobuf, s.calls.Method, s.calls.Request(n), reply, grpc.Trailer(&trailer))
	if err != nil {
		return failed(err, wait)
	}
	backend := backendOf(trailer)
	if err := s.calls.Check(n, reply, backend); err != nil {
		return caller.Outcome{Code: caller.DataLoss, Message: err.Error(), Wait: wait}
	}
	return caller.Outcome{Backend: backend, Code: measure.OK, Wait: wait}
}

// nonFatalCode is the code after which another attempt is sent, as in the hedgingPolicy of
// [rpclab/internal/route/settings].
const nonFatalCode = "UNAVAILABLE"

// hedge makes a call according to gRFC A6: one attempt, then another after each delay without a
// response, or at once after a non-fatal code. The first response or fatal code counts and cancels
// the other attempts. grpc-go (1.85) ignores hedgingPolicy, so hedge implements it, without
// throttling and push-back, which no backend of rpclab uses.
func (s *session) hedge(ctx context.Context, channel *grpc.ClientConn, n uint64) caller.Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes := make(chan caller.Outcome, s.job.Hedge.Attempts)
	attempt := func() {
		s.background.Go(func() { outcomes <- s.attempt(ctx, channel, n) })
	}
	attempt()
	delay := time.NewTimer(s.job.Hedge.Delay)
	defer delay.Stop()
	var last caller.Outcome
	for begun, ended := 1, 0; ended < begun; {
		select {
		case last = <-outcomes:
			if begun > 1 {
				last.Wait = 0 // that of the first attempt is what matters, and is not known
			}
			if ended++; last.Code != nonFatalCode {
				return last
			}
		case <-delay.C:
		}
		if begun < s.job.Hedge.Attempts {
			attempt()
			begun++
			delay.Reset(s.job.Hedge.Delay)
		}
	}
	return last
}

// backendOf returns the backend's identity in its metadata, or "".
func backendOf(m metadata.MD) string {
	if ids := m[workload.BackendTrailer]; len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// userChannels are the channels of users that have one each.
type userChannels struct {
	mu       sync.Mutex
	channels map[int]*grpc.ClientConn
}

// channelOf returns a user's channel, which connects at the first call.
func (s *session) channelOf(user int) (*grpc.ClientConn, error) {
	s.users.mu.Lock()
	defer s.users.mu.Unlock()
	if channel := s.users.channels[user]; channel != nil {
		return channel, nil
	}
	if s.users.channels == nil {
		s.users.channels = map[int]*grpc.ClientConn{}
	}
	channel, err := grpc.NewClient(s.uri, s.options...)
	if err == nil {
		s.users.channels[user] = channel
	}
	return channel, err
}

func (u *userChannels) close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var errs []error
	for _, channel := range u.channels {
		errs = append(errs, channel.Close())
	}
	return errors.Join(errs...)
}
