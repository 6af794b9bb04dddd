// Package grpcgo is the caller that uses grpc-go as an application does.
package grpcgo

import (
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"

	"rpclab/internal/caller"
	"rpclab/internal/caller/calculator"
)

// Caller opens grpc-go channels.
type Caller struct{}

// Open makes the channels of the job; grpc-go connects them at their first call.
func (Caller) Open(job caller.Job, target caller.Target) (caller.Session, error) {
	if job.Calculator != nil {
		return OpenCalculator(job, target)
	}
	opened, err := newSession(job, target)
	if err != nil {
		return nil, err
	}
	opened.options = append(opened.options, jobOptions(job)...)
	channels, messages := 0, streamMessages(nil)
	if job.Channels.Mode != caller.PerUser {
		if channels, err = job.Channels.Count(); err != nil {
			return nil, err
		}
	}
	if job.Stream != nil {
		if messages, err = opened.messages(); err != nil {
			return nil, err
		}
		if channels == 0 || job.Hedge != nil || job.Stream.Pipelined {
			return nil, errors.New("stream cannot be used with hedge, pipelined or a channel per call: remove them, or remove stream")
		}
	}
	for range channels {
		channel, err := grpc.NewClient(opened.uri, opened.options...)
		if err != nil {
			return nil, errors.Join(err, opened.Close())
		}
		opened.channels = append(opened.channels, channel)
	}
	if job.Stream != nil {
		return &streamSession{session: opened, messages: messages}, nil
	}
	return opened, nil
}

// jobOptions returns the options of channels that do not depend on the route.
func jobOptions(job caller.Job) (options []grpc.DialOption) {
	if job.Compress {
		options = append(options, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	if k := job.Keepalive; k != nil {
		options = append(options, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: k.Time, Timeout: k.Timeout, PermitWithoutStream: k.WithoutCalls}))
	}
	return options
}

// newSession returns a session without channels.
func newSession(job caller.Job, target caller.Target) (s *session, err error) {
	s = &session{job: job, uri: target.URI}
	target = s.connecting.through(target)
	s.options = DialOptions(target)
	if len(job.Calls) == 0 {
		s.attempt = s.invoke
		s.calls, err = job.Workload.Unary()
		return s, err
	}
	if s.service, err = openServiceCalls(job, target); err != nil {
		return nil, err
	}
	s.attempt = s.service.invoke
	s.options, err = serviceOptions(job.Calls[0], target, &s.connecting)
	return s, err
}

// messages returns the messages of the session's calls on streams.
func (s *session) messages() (streamMessages, error) {
	switch {
	case s.service != nil:
		return newServiceMessages(s.service)
	case s.calls.Stream == "":
		return nil, errors.New("stream needs the workload greet or increase: set one of them, or remove stream")
	}
	return workloadMessages{s.calls}, nil
}

// OpenCalculator opens a session with a calculator. It fails if the job has another workload or
// the client lacks keys that its policy requires.
func OpenCalculator(job caller.Job, target caller.Target) (*CalculatorSession, error) {
	count, err := job.Channels.Count()
	switch {
	case err != nil:
		return nil, err
	case job.Calculator == nil || job.Workload.Calculate == nil || count == 0 || job.Hedge != nil || job.Stream != nil:
		return nil, errors.New("caller.style needs the workload calculate, and cannot be used with hedge, stream or a channel per call: remove those, or remove caller.style")
	}
	config := *job.Calculator
	client, err := calculator.New(config, *job.Workload.Calculate)
	if err != nil {
		return nil, err
	}
	secured, err := config.Security.ClientCredentials()
	if err != nil {
		return nil, err
	}
	opened := &CalculatorSession{Client: client, timeout: job.Timeout, late: job.Late, ahead: config.Ahead}
	options := append(DialOptions(opened.connecting.through(target)), grpc.WithTransportCredentials(timedCredentials{secured, &opened.connecting}))
	options = append(options, jobOptions(job)...)
	for range count {
		channel, err := grpc.NewClient(target.URI, options...)
		if err != nil {
			return nil, errors.Join(err, opened.Close())
		}
		opened.channels = append(opened.channels, channel)
	}
	switch config.Style {
	case caller.Bidi:
		opened.requests = newBidiStreams(opened, max(1, config.Streams))
	case caller.UnaryStream:
		opened.requests, opened.unary = newUnaryStream(opened), true
	default:
		return nil, errors.Join(fmt.Errorf("unknown style %q: use one of %v", config.Style, caller.Styles), opened.Close())
	}
	return opened, nil
}
