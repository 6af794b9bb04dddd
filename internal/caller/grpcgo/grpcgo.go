// Package grpcgo is the caller that uses grpc-go as an application would.
package grpcgo

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
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
	calls, err := job.Workload.Unary()
	if err != nil {
		return nil, err
	}
	s := &session{job: job, calls: calls, uri: target.URI, options: DialOptions(target)}
	channels, err := job.Channels.Count()
	if err != nil {
		return nil, err
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
	channels []*grpc.ClientConn // none: a channel per call
	closing  sync.WaitGroup     // channels whose call has ended
}

func (s *session) Run(ctx context.Context, p pace.Pace) (*measure.Recorder, time.Time, error) {
	recorder, start := caller.Drive(ctx, p, s.job.Late, s.call, nil)
	s.closing.Wait()
	return recorder, start, nil
}

func (s *session) Close() error {
	var errs []error
	for _, channel := range s.channels {
		errs = append(errs, channel.Close())
	}
	return errors.Join(errs...)
}

// call makes one call. With a channel per call its latency includes opening the
// channel, as it does for an application that works that way; closing it goes on
// after the answer, and costs CPU time that is the arm's.
func (s *session) call(ctx context.Context, n uint64) (backend, code, message string) {
	ctx, cancel := context.WithTimeout(ctx, s.job.Timeout)
	defer cancel()
	if len(s.channels) > 0 {
		return s.invoke(ctx, s.channels[n%uint64(len(s.channels))], n)
	}
	channel, err := grpc.NewClient(s.uri, s.options...)
	if err != nil {
		return "", caller.Code(err), err.Error()
	}
	defer s.closing.Go(func() { _ = channel.Close() })
	return s.invoke(ctx, channel, n)
}

func (s *session) invoke(ctx context.Context, channel *grpc.ClientConn, n uint64) (backend, code, message string) {
	reply := s.calls.Reply()
	var trailer metadata.MD
	if err := channel.Invoke(ctx, s.calls.Method, s.calls.Request(n), reply, grpc.Trailer(&trailer)); err != nil {
		return "", caller.Code(err), err.Error()
	}
	if ids := trailer[workload.Trailer]; len(ids) > 0 {
		backend = ids[0]
	}
	if err := s.calls.Check(n, reply, backend); err != nil {
		return "", "DATA_LOSS", err.Error()
	}
	return backend, measure.OK, ""
}
