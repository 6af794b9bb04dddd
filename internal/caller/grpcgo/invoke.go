package grpcgo

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"rpclab/internal/caller"
)

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

// CheckServiceConfig returns the error that grpc-go finds in a service config.
func CheckServiceConfig(text string) error {
	channel, err := grpc.NewClient("passthrough:///", DialOptions(caller.Target{ServiceConfig: text})...)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "grpc: the provided default service config is invalid: "))
	}
	return channel.Close() // it has not connected
}

// failed is the outcome of a call that failed after a wait for a stream.
func failed(err error, wait time.Duration) caller.Outcome {
	return caller.Outcome{Code: caller.Code(err), Message: err.Error(), Wait: wait}
}

// NewStream opens a stream. wait is how long grpc-go kept the call before it sent the headers: until other
// calls left it a stream (MAX_CONCURRENT_STREAMS) and a processor. It is 0 if the channel had to connect.
func NewStream(ctx context.Context, channel *grpc.ClientConn, of *grpc.StreamDesc, method string, options ...grpc.CallOption) (stream grpc.ClientStream, wait time.Duration, err error) {
	connected := channel.GetState() == connectivity.Ready
	started := time.Now()
	stream, err = channel.NewStream(ctx, of, method, options...)
	if connected {
		wait = time.Since(started)
	}
	return stream, wait, err
}

// Invoke makes a unary call with a codec; for wait see [NewStream].
//
// grpc-go encodes the message as soon as the connection has a stream for it, so the codec sees when that is. A
// stats.Handler would see it too (OutHeader), and so would NewStream, but each costs some 4 µs a call: the one
// allocates an object for each of seven events, the other starts a goroutine.
func Invoke(ctx context.Context, channel *grpc.ClientConn, codec encoding.CodecV2, method string, request, reply any, options ...grpc.CallOption) (wait time.Duration, err error) {
	connected := channel.GetState() == connectivity.Ready
	timed := &timedCodec{CodecV2: codec}
	started := time.Now()
	err = channel.Invoke(ctx, method, request, reply, append(options, grpc.ForceCodecV2(timed))...)
	err = atDeadline(ctx, err)
	switch {
	case !connected:
		return 0, err
	case timed.encoded.IsZero(): // the call was never sent
		return time.Since(started), err
	}
	return timed.encoded.Sub(started), err
}

// atDeadline returns DEADLINE_EXCEEDED for a cancellation at the deadline: the status of a server that enforces it (tonic's is
// CANCELLED) may arrive before grpc-go's own.
func atDeadline(ctx context.Context, err error) error {
	if due, limited := ctx.Deadline(); limited && status.Code(err) == codes.Canceled && !time.Now().Before(due) {
		return status.Error(codes.DeadlineExceeded, status.Convert(err).Message())
	}
	return err
}

// timedCodec is the codec of one call, and notes when it encodes the message.
type timedCodec struct {
	encoding.CodecV2
	encoded time.Time
}

func (c *timedCodec) Marshal(message any) (mem.BufferSlice, error) {
	c.encoded = time.Now()
	return c.CodecV2.Marshal(message)
}

// protobuf is grpc-go's codec of protobuf messages. Without a name, calls have the same content type as
// without a codec.
var protobuf = unnamed{encoding.GetCodecV2(proto.Name)}

type unnamed struct{ encoding.CodecV2 }

func (unnamed) Name() string { return "" }
