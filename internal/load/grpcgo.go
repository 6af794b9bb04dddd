package load

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // registers the compressor
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service/data"
	"rpclab/internal/service/raw"
	"rpclab/internal/service/request"
	"rpclab/internal/service/stream"
	"rpclab/internal/wire/h2"
	"rpclab/internal/workload"
)

// grpcClient makes gRPC calls with grpc-go, with one channel for each connection.
type grpcClient struct {
	channels  []*grpc.ClientConn
	path      string // of the method
	several   bool   // the target has several addresses
	headers   metadata.MD
	timeout   time.Duration
	messages  *data.Messages
	numbers   data.Numbers
	stream    *stream.Stream // nil: unary
	templates metadataTemplates
	reply     atomic.Int64
	decode    func(response []byte) error // nil: every response is accepted
}

// openGRPC opens connections and returns when all are ready.
func openGRPC(ctx context.Context, to target, connections int, security *tls.Config, limits ResponseLimits, dial dialer, more ...grpc.DialOption) (*grpcClient, error) {
	if dial == nil {
		dial = dialAddress
	}
	verified := security
	var transport credentials.TransportCredentials = insecure.NewCredentials()
	if security != nil {
		security = security.Clone()
		security.ServerName = "" // grpc-go verifies the authority
		transport = credentials.NewTLS(security)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport), grpc.WithNoProxy(), grpc.WithAuthority(to.authority), grpc.WithDisableServiceConfig(), grpc.WithContextDialer(dial),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"` + cmp.Or(to.balance, PickFirst) + `": {}}]}`),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(cmp.Or(limits.MaxMessage, DefaultMaxMessage))),
		grpc.WithMaxHeaderListSize(uint32(cmp.Or(limits.MaxHeaderList, DefaultMaxHeaderList))),
	}
	options = append(options, more...)
	remote := endpoint{target: to, security: verified, dial: dial}
	interrupt := ctx
	remote.waited = ConnectionOptions{}.timeout(to, connections)
	ctx, cancel := context.WithTimeout(ctx, remote.waited)
	defer cancel()
	client := &grpcClient{several: to.several()}
	for range connections {
		addresses := manual.NewBuilderWithScheme("rpclab")
		addresses.InitialState(to.state())
		channel, err := grpc.NewClient("rpclab:///", append(options, grpc.WithResolvers(addresses))...)
		if err != nil {
			return nil, errors.Join(request.Invalid(err), client.Close())
		}
		channel.Connect()
		client.channels = append(client.channels, channel)
	}
	for _, channel := range client.channels {
		if err := ready(ctx, channel); err != nil {
			return nil, errors.Join(remote.connectError(interrupt, err), client.Close())
		}
	}
	return client, nil
}

// dialOptions are the options of calls.
func (s Settings) dialOptions() (all []grpc.DialOption) {
	if s.UserAgent != "" {
		all = append(all, grpc.WithUserAgent(s.UserAgent))
	}
	if s.Compress != "" {
		all = append(all, grpc.WithDefaultCallOptions(grpc.UseCompressor(s.Compress)))
	}
	return all
}

// state is the target as the state of a resolver.
func (t target) state() (all resolver.State) {
	for _, address := range t.addresses {
		all.Endpoints = append(all.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: address}}})
	}
	return all
}

// ready waits until a channel is connected, or returns the cause of the failure.
func ready(ctx context.Context, channel *grpc.ClientConn) error {
	for {
		switch state := channel.GetState(); state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure:
			// A call on a channel that cannot connect fails with the cause.
			_, err := channel.NewStream(ctx, &grpc.StreamDesc{}, "/rpclab.v1.Connect/Never")
			why := status.Convert(err).Message()
			if _, quoted, ok := strings.Cut(why, `desc = "`); ok {
				why = strings.TrimSuffix(quoted, `"`)
			}
			return errors.New(why)
		default:
			if !channel.WaitForStateChange(ctx, state) {
				return ctx.Err()
			}
		}
	}
}

func (c *grpcClient) Run(ctx context.Context, p pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	ctx = metadata.NewOutgoingContext(ctx, c.headers)
	if c.stream == nil {
		return runCalls(ctx, p, &c.numbers, c.messages, c.templates, c.timeout, signal, c.unary)
	}
	streams := grpcgo.NewStreams(c.stream, c.path, c.timeout)
	recorder, start, err := runCalls(ctx, p, &c.numbers, c.messages, c.templates, c.timeout, signal, func(ctx context.Context, n uint64, message []byte) caller.Outcome {
		return c.streaming(ctx, streams, n, message)
	})
	if err == nil {
		recorder.Merge(streams.Recorded())
	}
	return recorder, start, err
}

func (c *grpcClient) unary(ctx context.Context, n uint64, message []byte) caller.Outcome {
	response := raw.Response{Decode: c.decode}
	var trailer metadata.MD
	var from peer.Peer
	wait, err := grpcgo.Invoke(ctx, c.channel(n), raw.Codec{}, c.path, message, &response, grpc.Trailer(&trailer), grpc.Peer(&from))
	if err == nil {
		c.reply.Store(int64(response.Size))
		err = response.Invalid
	}
	return c.outcome(wait, err, &from, trailer)
}

func (c *grpcClient) streaming(ctx context.Context, streams *grpcgo.Streams, n uint64, message []byte) caller.Outcome {
	from, wait, err := streams.Call(ctx, c.channel(n), n, message, c.received)
	return c.outcome(wait, err, from.Peer, from.Trailer, from.Header)
}

// received keeps the size of a response to a stream and returns why it cannot be decoded.
func (c *grpcClient) received(response []byte) error {
	c.reply.Store(int64(len(response)))
	if c.decode == nil {
		return nil
	}
	return c.decode(response)
}

func (c *grpcClient) channel(n uint64) *grpc.ClientConn { return c.channels[n%uint64(len(c.channels))] }

// outcome returns the result of a call and the backend that answered it: its identity in the
// metadata, or its address where there are several.
func (c *grpcClient) outcome(wait time.Duration, err error, from *peer.Peer, answered ...metadata.MD) caller.Outcome {
	if invalid, ok := errors.AsType[raw.InvalidError](err); ok {
		return caller.Outcome{Code: h2.Status{Code: h2.InvalidResponse}.Name(), Message: invalid.Error(), Wait: wait}
	}
	if err != nil {
		return caller.Outcome{Code: caller.Code(err), Message: status.Convert(err).Message(), Wait: wait}
	}
	for _, md := range answered {
		if ids := md[workload.BackendTrailer]; len(ids) > 0 {
			return caller.Outcome{Backend: ids[0], Code: measure.OK, Wait: wait}
		}
	}
	if c.several && from != nil && from.Addr != nil {
		return caller.Outcome{Backend: addressOf(from.Addr), Code: measure.OK, Wait: wait}
	}
	return caller.Outcome{Code: measure.OK, Wait: wait}
}

func (c *grpcClient) ReplyBytes() int { return int(c.reply.Load()) }

func (c *grpcClient) Close() error {
	var errs []error
	for _, channel := range c.channels {
		errs = append(errs, channel.Close())
	}
	return errors.Join(errs...)
}
