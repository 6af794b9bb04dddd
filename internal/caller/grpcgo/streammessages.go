package grpcgo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"rpclab/internal/service"
	"rpclab/internal/service/raw"
	"rpclab/internal/workload"
)

// streamMessages are the messages that streams carry.
type streamMessages interface {
	// open opens a stream whose first message is n; for wait see [NewStream].
	open(ctx context.Context, channel *grpc.ClientConn, n uint64) (stream grpc.ClientStream, wait time.Duration, err error)
	request(n uint64) (any, error)
	// receive receives the response to message n, and returns the backend that sent it; "": not known. The error of
	// a wrong response wraps errWrongResponse, and a [service.CheckError] is that of one that does not end the stream.
	receive(stream *messageStream, n uint64) (backend string, err error)
}

// messageStream is an open stream with at most one message in flight.
type messageStream struct {
	grpc.ClientStream
	cancel   context.CancelFunc
	openedAt time.Time
	answered bool   // the first message has been
	backend  string // known after the first response, if at all
}

var errWrongResponse = errors.New("wrong response")

var bidirectional = &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}

// workloadMessages are messages to rpclab's own servers.
type workloadMessages struct{ workload.Unary }

func (m workloadMessages) open(ctx context.Context, channel *grpc.ClientConn, _ uint64) (grpc.ClientStream, time.Duration, error) {
	return NewStream(ctx, channel, bidirectional, m.Stream)
}

func (m workloadMessages) request(n uint64) (any, error) { return m.Request(n), nil }

func (m workloadMessages) receive(stream *messageStream, n uint64) (backend string, err error) {
	reply := m.Reply()
	if err := stream.RecvMsg(reply); err != nil {
		return "", err
	}
	if backend = stream.backend; backend == "" {
		header, err := stream.Header()
		if err != nil {
			return "", err
		}
		backend = backendOf(header)
	}
	if err := m.Check(n, reply, backend); err != nil {
		return "", fmt.Errorf("%w: %w", errWrongResponse, err)
	}
	return backend, nil
}

// serviceMessages are messages of a call of a user's service. The metadata of a stream is that of its first
// message.
type serviceMessages struct{ *service.Call }

// newServiceMessages returns the messages of a call, which streams can carry one after the response to another.
func newServiceMessages(calls *serviceCalls) (serviceMessages, error) {
	call := calls.calls[0]
	if len(calls.calls) > 1 {
		return serviceMessages{}, fmt.Errorf("a stream carries the messages of one call, not of %d", len(calls.calls))
	}
	return serviceMessages{call.Call}, call.CheckMessages()
}

func (m serviceMessages) open(ctx context.Context, channel *grpc.ClientConn, n uint64) (grpc.ClientStream, time.Duration, error) {
	md, err := m.Metadata(n, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("make the metadata: %w", err)
	}
	return NewStream(metadata.NewOutgoingContext(ctx, md), channel, bidirectional, m.Path, grpc.ForceCodecV2(raw.Codec{}))
}

func (m serviceMessages) request(n uint64) (any, error) {
	message, err := m.Message(n, nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	return message, nil
}

func (m serviceMessages) receive(stream *messageStream, _ uint64) (backend string, err error) {
	response := raw.Response{Decode: func(message []byte) (err error) {
		backend, err = m.Judge(message)
		return err
	}}
	if err := stream.RecvMsg(&response); err != nil {
		return "", err
	}
	if response.Invalid != nil {
		return "", fmt.Errorf("%w: call %s: %w", errWrongResponse, m.Path, response.Invalid)
	}
	if backend = cmp.Or(backend, stream.backend); backend != "" {
		return backend, nil
	}
	header, err := stream.Header()
	if err != nil {
		return "", err
	}
	address := ""
	if from, ok := peer.FromContext(stream.Context()); ok {
		address = from.Addr.String()
	}
	return m.Identity().BackendOf(header, nil, address), nil
}
