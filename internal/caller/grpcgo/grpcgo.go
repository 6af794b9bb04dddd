// Package grpcgo is the caller that uses grpc-go as an application does.
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
	if job.Calculator != nil {
		return OpenCalculator(job, target)
	}
	calls, err := job.Workload.Unary()
	if err != nil {
		return nil, err
	}
	opened := &session{job: job, calls: calls, uri: target.URI, options: DialOptions(target)}
	if job.Compress {
		opened.options = append(opened.options, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	channels := 0
	if job.Channels.Mode != caller.PerUser {
		if channels, err = job.Channels.Count(); err != nil {
			return nil, err
		}
	}
	if job.Stream != nil {
		if calls.Stream == "" || channels == 0 || job.Hedge != nil || job.Stream.Pipelined {
			return nil, errors.New("streams need the workload greet or increase and channels that stay open, without hedge and pipelining: set those, or leave out stream")
		}
		opened.streams = &streamPool{session: opened}
	}
	for range channels {
		channel, err := grpc.NewClient(opened.uri, opened.options...)
		if err != nil {
			return nil, errors.Join(err, opened.Close())
		}
		opened.channels = append(opened.channels, channel)
	}
	return opened, nil
}

// DialOptions returns the options of a channel along a route: in clear text, and never through
// an HTTP proxy named by the environment.
func DialOptions(target caller.Target) []grpc.DialOption {
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy()}
	if target.ServiceConfig != "" {
		options = append(options, grpc.WithDefaultServiceConfig(target.ServiceConfig))
	}
	if target.Dial != nil {
		options = append(options, grpc.WithContextDialer(target.Dial))
	}
	if len(target.Resolvers) > 0 {
		options = append(options, grpc.WithResolvers(target.Resolvers...))
	}
	return options
}

type session struct {
	job        caller.Job
	calls      workload.Unary
	uri        string
	options    []grpc.DialOption
	channels   []*grpc.ClientConn // none: a channel per call, or per user
	users      userChannels
	streams    *streamPool    // nil: calls are unary
	background sync.WaitGroup // work that continues after its call has ended
}

func (s *session) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	do := s.call
	if s.streams != nil {
		do = s.streams.call
	}
	recorder, start := caller.Run(ctx, plan, signal, s.job.Late, do, nil)
	s.background.Wait()
	return recorder, start, nil
}

func (s *session) Close() error {
	if s.streams != nil {
		s.streams.closeAll()
	}
	var errs []error
	for _, channel := range s.channels {
		errs = append(errs, channel.Close())
	}
	return errors.Join(append(errs, s.users.close())...)
}

// call makes one call. With a channel per call, its latency includes opening the channel, as in
// an application that works that way; the channel is closed after the answer, and that CPU
// time counts too. With a channel per user, a user's first call opens the channel.
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
	if user, ok := caller.UserOf(ctx); ok && s.job.Channels.Mode == caller.PerUser {
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
	defer s.background.Go(func() { _ = channel.Close() })
	return invoke(ctx, channel, n)
}

func (s *session) invoke(ctx context.Context, channel *grpc.ClientConn, n uint64) (backend, code, message string) {
	reply := s.calls.Reply()
	var trailer metadata.MD
	if err := channel.Invoke(ctx, s.calls.Method, s.calls.Request(n), reply, grpc.Trailer(&trailer)); err != nil {
		return "", caller.Code(err), err.Error()
	}
	backend = backendOf(trailer)
	if err := s.calls.Check(n, reply, backend); err != nil {
		return "", caller.DataLoss, err.Error()
	}
	return backend, measure.OK, ""
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
