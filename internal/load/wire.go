package load

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"

	"rpclab/internal/load/data"
	"rpclab/internal/load/request"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire"
	"rpclab/internal/wire/h2"
	"rpclab/internal/workload"
)

// wireClient makes gRPC and REST calls with our own engine.
type wireClient struct {
	engine   *wire.Engine
	messages *data.Messages
	live     atomic.Pointer[Live]
	reply    atomic.Int64
}

// wireConfig is how a wire client connects and what it calls.
type wireConfig struct {
	target             string
	connections, cores int
	security           *tls.Config
	timeout            time.Duration
	path               string     // of the method
	http               *wire.HTTP // a plain request instead
	authority          string     // empty: the target
	fields             []h2.Field
	messages           *data.Messages
	stream             *stream // nil: unary
	perCall            bool    // a connection for each call
	onDemand           bool    // connections are opened as calls need them
	pace               pace.Pace
	connecting         Connecting
	dial               dialer // nil: TCP
}

// openWire connects to a target and returns when every connection is ready.
func openWire(ctx context.Context, c wireConfig) (*wireClient, error) {
	atOnce := c.connections
	if c.onDemand {
		atOnce = 1
	}
	to := way{target: c.target, secure: c.security != nil}
	if c.http != nil {
		to.http = c.http.Version
	}
	interrupt := ctx
	ctx, cancel := context.WithTimeout(ctx, c.connecting.patience(atOnce))
	defer cancel()
	sources, err := c.connecting.sources()
	if err != nil {
		return nil, err
	}
	addresses, err := resolve(ctx, c.target)
	if err != nil {
		return nil, to.unreachable(interrupt, err)
	}
	if addresses, err = reachable(c.target, addresses, sources); err != nil {
		return nil, err
	}
	if c.perCall { // none is opened before the first call
		if err := probe(ctx, c.dial, addresses); err != nil {
			return nil, to.unreachable(interrupt, err)
		}
	}
	w := &wireClient{messages: c.messages}
	call := wire.Call{
		Method: c.path, HTTP: c.http, Authority: c.authority, Metadata: c.fields, Backend: workload.Trailer,
		Check: w.check, Began: w.began, Ended: w.ended,
	}
	if call.Authority == "" {
		call.Authority = c.target
	}
	if c.stream != nil {
		call.Stream = &c.stream.Stream
	}
	fixed := false
	if call.Message, fixed = c.messages.Fixed(); !fixed {
		call.Make = w.make
	}
	w.engine, err = wire.New(wire.Config{
		Addresses: addresses, Dial: c.dial, TLS: named(c.security, c.target), Timeout: c.timeout,
		Channels: c.connections, PerCall: c.perCall, OnDemand: c.onDemand, Cores: c.cores, MaxMessage: 64 << 20,
		Sticky: true, Yield: unpaced(c.pace), Sources: sources, Streams: c.connecting.Streams,
		ConnectRate: c.connecting.ConnectRate, KeepAlive: c.connecting.KeepAlive, IdleClose: c.connecting.IdleClose,
	}, call)
	if err != nil {
		return nil, request.Wrong(err)
	}
	if err := w.engine.Connect(ctx); err != nil {
		return nil, errors.Join(to.unreachable(interrupt, err), w.Close())
	}
	return w, nil
}

// probe opens a connection to one of the addresses, or says why none can be opened.
func probe(ctx context.Context, dial dialer, addresses []string) (err error) {
	if dial == nil {
		dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	for _, address := range addresses {
		var connection net.Conn
		if connection, err = dial(ctx, address); err == nil {
			return connection.Close()
		}
	}
	return err
}

// unpaced says that calls are due whenever an answer comes, so that none of them waits
// when the generator lets others go first.
func unpaced(p pace.Pace) bool {
	closed, ok := p.(pace.Closed)
	return ok && closed.Think == 0
}

// resolve asks for the addresses of a target, once.
func resolve(ctx context.Context, target string) (addresses []string, err error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, request.Wrong(err)
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		addresses = append(addresses, net.JoinHostPort(h, port))
	}
	return addresses, nil
}

// named is a TLS configuration that knows whom the certificate has to name, since the
// engine is told addresses only.
func named(security *tls.Config, target string) *tls.Config {
	if security == nil || security.ServerName != "" {
		return security
	}
	security = security.Clone()
	security.ServerName, _, _ = net.SplitHostPort(target) // was checked before
	return security
}

// fields are metadata as HTTP/2 carries them: those in -bin as base64.
func fields(md metadata.MD) (all []h2.Field) {
	for name, values := range md {
		for _, value := range values {
			if strings.HasSuffix(name, "-bin") {
				value = base64.RawStdEncoding.EncodeToString([]byte(value))
			}
			all = append(all, h2.Field{Name: name, Value: value})
		}
	}
	return all
}

func (w *wireClient) Run(ctx context.Context, p pace.Pace, live *Live) (*measure.Recorder, time.Time, error) {
	w.live.Store(live)
	recorder, start, _, err := w.engine.Run(ctx, p, measure.Cue{})
	return recorder, start, err
}

func (w *wireClient) make(n uint64, worker int, to []byte) ([]byte, error) {
	message, err := w.messages.At(data.Call{Number: n, Worker: worker})
	return append(to, message...), err
}

func (w *wireClient) check(_ uint64, answer []byte, _ string) error {
	w.reply.Store(int64(len(answer)))
	return nil
}

func (w *wireClient) began() {
	if live := w.live.Load(); live != nil {
		live.Began()
	}
}

func (w *wireClient) ended(c measure.Call) {
	if live := w.live.Load(); live != nil {
		live.Ended(c)
	}
}

func (w *wireClient) ReplyBytes() int { return int(w.reply.Load()) }

func (w *wireClient) Close() error { return w.engine.Close() }
