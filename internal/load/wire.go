package load

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service/data"
	"rpclab/internal/service/request"
	"rpclab/internal/service/stream"
	"rpclab/internal/wire"
	"rpclab/internal/wire/h2"
	"rpclab/internal/workload"
)

// wireClient makes gRPC and REST calls with the engine wire.
type wireClient struct {
	engine   *wire.Engine
	messages *data.Messages
	numbers  data.Numbers
	reply    atomic.Int64 // bytes of the last response
}

// wireConfig configures a wireClient.
type wireConfig struct {
	target             target
	connections, cores int
	security           *tls.Config // with the name to verify
	timeout            time.Duration
	path               string     // of the method
	http               *wire.HTTP // REST call instead of gRPC
	fields             []h2.Field
	templates          metadataTemplates
	compress           bool   // messages of gRPC
	userAgent          string // of gRPC
	messages           *data.Messages
	stream             *stream.Stream // nil: unary
	perCall            bool           // open a connection for each call
	onDemand           bool           // open connections when calls need them
	pace               pace.Pace
	connecting         ConnectionOptions
	limits             ResponseLimits
	dial               dialer // nil: TCP
	// decode returns why a response cannot be decoded; nil: every response can be.
	decode func(response []byte, contentType string) error
}

// openWire opens connections and returns when all are ready. With perCall it only tries one; with onDemand it
// opens one, and calls open the others.
func openWire(ctx context.Context, config wireConfig) (*wireClient, error) {
	if config.perCall { // its engine opens no connection in advance
		one := config
		one.perCall, one.connections = false, 1
		tried, err := openWire(ctx, one)
		if err != nil {
			return nil, err
		}
		if err := tried.Close(); err != nil {
			return nil, err
		}
	}
	atOnce := config.connections
	if config.onDemand {
		atOnce = 1
	}
	remote := endpoint{target: config.target, security: config.security, dial: config.dial}
	if config.http != nil {
		remote.http = config.http.Version
	}
	interrupt := ctx
	remote.waited = config.connecting.timeout(config.target, atOnce)
	ctx, cancel := context.WithTimeout(ctx, remote.waited)
	defer cancel()
	sources, err := config.connecting.sources()
	if err != nil {
		return nil, err
	}
	if config.dial == nil && config.target.hasSockets() { // the engine itself dials TCP only
		config.dial = dialAddress
	}
	client := &wireClient{messages: config.messages}
	call := wire.Call{
		Method: config.path, HTTP: config.http, Stream: config.stream, Authority: config.target.authority, Metadata: config.fields, Backend: workload.BackendTrailer,
		Check: client.check, Decode: config.decode,
	}
	call.Gzip, call.UserAgent = config.compress, config.userAgent
	if len(config.templates) > 0 {
		call.AppendMetadata = func(n uint64, worker int, to []h2.Field) ([]h2.Field, error) {
			return config.metadata(data.Call{Number: client.numbers.Of(n), Worker: worker}, to)
		}
	}
	fixed := false
	if call.Message, fixed = config.messages.Constant(); !fixed {
		call.AppendMessage = client.appendMessage
	}
	client.engine, err = wire.New(wire.Config{
		Addresses: config.target.addresses, RoundRobin: config.target.balanced(), AddressIsBackend: config.target.several(), Dial: config.dial, TLS: config.security, Timeout: config.timeout,
		Channels: config.connections, ConnectionPerCall: config.perCall, OnDemand: config.onDemand, Cores: config.cores,
		MaxMessage: config.limits.MaxMessage, MaxHeaderList: config.limits.MaxHeaderList,
		Sticky: true, Yield: hasNoThinkTime(config.pace), Sources: sources, MaxStreams: config.connecting.Streams,
		ConnectRate: config.connecting.ConnectRate, KeepAlive: config.connecting.KeepAlive, IdleClose: config.connecting.IdleClose,
	}, call)
	if err != nil {
		return nil, request.Invalid(err)
	}
	if err := client.engine.Connect(ctx); err != nil {
		return nil, errors.Join(remote.connectError(interrupt, err), client.Close())
	}
	return client, nil
}

// hasNoThinkTime reports whether a user makes the next call as soon as the last one ended. Such calls have no
// time at which they are due, so their lateness means nothing.
func hasNoThinkTime(p pace.Pace) bool {
	closed, ok := p.(pace.Closed)
	return ok && closed.Think == 0
}

// metadata appends the metadata of a call that are templates.
func (c wireConfig) metadata(call data.Call, to []h2.Field) ([]h2.Field, error) {
	if c.http == nil {
		md, err := c.templates.gRPC(call)
		return h2.AppendMetadata(to, md), err
	}
	headers, err := c.templates.For(call)
	for name, values := range headers {
		if c.http.Version == 2 {
			name = strings.ToLower(name)
		}
		for _, value := range values {
			to = append(to, h2.Field{Name: name, Value: value})
		}
	}
	return to, err
}

func (w *wireClient) Run(ctx context.Context, p pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	w.numbers.Next()
	return w.engine.Run(ctx, p, signal)
}

func (w *wireClient) appendMessage(n uint64, worker int, to []byte) ([]byte, error) {
	message, err := w.messages.For(data.Call{Number: w.numbers.Of(n), Worker: worker})
	return append(to, message...), err
}

func (w *wireClient) check(_ uint64, answer []byte, _ string) error {
	w.reply.Store(int64(len(answer)))
	return nil
}

func (w *wireClient) ReplyBytes() int { return int(w.reply.Load()) }

func (w *wireClient) Close() error { return w.engine.Close() }
