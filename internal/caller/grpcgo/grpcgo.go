// Package grpcgo is the caller that uses grpc-go as an application would.
package grpcgo

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

// Caller opens grpc-go channels.
type Caller struct{}

// Open makes the channels of the job; grpc-go connects them at their first call.
func (Caller) Open(job caller.Job, target caller.Target) (caller.Session, error) {
	if job.Calculations != nil {
		return OpenCalculations(job, target)
	}
	calls, err := job.Workload.Unary()
	if err != nil {
		return nil, err
	}
	s := &session{job: job, calls: calls, uri: target.URI, options: DialOptions(target)}
	if job.Compress {
		s.options = append(s.options, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	channels := 0
	if job.Channels.Mode != caller.PerUser {
		if channels, err = job.Channels.Count(); err != nil {
			return nil, err
		}
	}
	if job.Stream != nil {
		if calls.Stream == "" || channels == 0 || job.Hedge != nil || job.Stream.Pipelined {
			return nil, errors.New("streams carry greetings or a chain over channels that stay open, and neither hedge nor pipeline")
		}
		s.streams = &streams{session: s}
	}
	for range channels {
		channel, err := grpc.NewClient(s.uri, s.options...)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.channels = append(s.channels, channel)
	}
	return s, nil
}

// DialOptions are the options that take a grpc-go channel along a route, in clear
// text and never by an HTTP proxy that the environment names.
func DialOptions(t caller.Target) []grpc.DialOption {
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy()}
	if t.ServiceConfig != "" {
		options = append(options, grpc.WithDefaultServiceConfig(t.ServiceConfig))
	}
	if t.Dial != nil {
		options = append(options, grpc.WithContextDialer(t.Dial))
	}
	if len(t.Resolvers) > 0 {
		options = append(options, grpc.WithResolvers(t.Resolvers...))
	}
	return options
}

type session struct {
	job      caller.Job
	calls    workload.Unary
	uri      string
	options  []grpc.DialOption
	channels []*grpc.ClientConn // none: a channel per call, or per user
	users    users
	streams  *streams       // nil: calls are unary
	after    sync.WaitGroup // what goes on after its call has ended
}

func (s *session) Run(ctx context.Context, p pace.Pace, cue measure.Cue) (*measure.Recorder, time.Time, error) {
	do := s.call
	if s.streams != nil {
		do = s.streams.call
	}
	recorder, start := caller.Drive(ctx, p, cue, s.job.Late, do, nil)
	s.after.Wait()
	return recorder, start, nil
}

func (s *session) Close() error {
	if s.streams != nil {
		s.streams.end()
	}
	var errs []error
	for _, channel := range s.channels {
		errs = append(errs, channel.Close())
	}
	return errors.Join(append(errs, s.users.close())...)
}

// call makes one call. With a channel per call its latency includes opening the
// channel, as it does for an application that works that way; closing it goes on
// after the answer, and costs CPU time that is the arm's. With a channel per user that of
// a user's first call does, and calls that are no user's have one each.
func (s *session) call(ctx context.Context, n uint64) (backend, code, message string) {
	ctx, cancel := context.WithTimeout(ctx, s.job.Timeout)
	defer cancel()
	invoke := s.invoke
	if s.job.Hedge != nil {
		invoke = s.hedge
	}
	if len(s.channels) > 0 {
		return invoke(ctx, s.channels[n%uint64(len(s.channels))], n)
	}
	if user, ok := caller.User(ctx); ok && s.job.Channels.Mode == caller.PerUser {
		channel, err := s.channelOf(user)
		if err != nil {
			return "", caller.Code(err), err.Error()
		}
		return invoke(ctx, channel, n)
	}
	channel, err := grpc.NewClient(s.uri, s.options...)
	if err != nil {
		return "", caller.Code(err), err.Error()
	}
	defer s.after.Go(func() { _ = channel.Close() })
	return invoke(ctx, channel, n)
}

func (s *session) invoke(ctx context.Context, channel *grpc.ClientConn, n uint64) (backend, code, message string) {
	reply := s.calls.Reply()
	var trailer metadata.MD
	if err := channel.Invoke(ctx, s.calls.Method, s.calls.Request(n), reply, grpc.Trailer(&trailer)); err != nil {
		return "", caller.Code(err), err.Error()
	}
	backend = identity(trailer)
	if err := s.calls.Check(n, reply, backend); err != nil {
		return "", "DATA_LOSS", err.Error()
	}
	return backend, measure.OK, ""
}

// identity is that of the backend whose metadata it is; "" when it does not say.
func identity(m metadata.MD) string {
	if ids := m[workload.Trailer]; len(ids) > 0 {
		return ids[0]
	}
	return ""
}
