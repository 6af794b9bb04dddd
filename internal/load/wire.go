package load

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"

	"rpclab/internal/load/data"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire"
	"rpclab/internal/wire/h2"
	"rpclab/internal/workload"
)

// wireClient makes unary gRPC calls with our own engine.
type wireClient struct {
	engine   *wire.Engine
	messages *data.Messages
	live     atomic.Pointer[Live]
	reply    atomic.Int64

	anyUnmade atomic.Bool
	mu        sync.Mutex
	unmade    map[uint64]string // calls whose template failed, and why
}

// wireConfig is how a wire client connects and what it calls.
type wireConfig struct {
	target             string
	connections, cores int
	security           *tls.Config
	timeout            time.Duration
	path               string // of the method
	headers            metadata.MD
	messages           *data.Messages
	dial               dialer // nil: TCP
}

// openWire connects to a target and returns when every connection is ready.
func openWire(ctx context.Context, c wireConfig) (*wireClient, error) {
	if c.messages.UseWorkers() {
		return nil, wrongf("{{.Worker}} needs --engine grpc-go: the engine wire has no workers")
	}
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	addresses, err := resolve(ctx, c.target)
	if err != nil {
		return nil, err
	}
	w := &wireClient{messages: c.messages, unmade: map[uint64]string{}}
	w.engine, err = wire.New(wire.Config{
		Addresses: addresses, Dial: c.dial, TLS: named(c.security, c.target), Timeout: c.timeout,
		Channels: c.connections, Cores: c.cores, MaxMessage: 64 << 20,
	}, wire.Call{
		Method: c.path, Authority: c.target, Metadata: fields(c.headers), Backend: workload.Trailer,
		Make: w.make, Check: w.check,
	})
	if err != nil {
		return nil, wrong{err}
	}
	if err := w.engine.Connect(ctx); err != nil {
		text := strings.TrimPrefix(err.Error(), "wire: ")
		return nil, errors.Join(fmt.Errorf("cannot connect to %s: %s", c.target, text), w.Close())
	}
	return w, nil
}

// resolve asks for the addresses of a target, once.
func resolve(ctx context.Context, target string) (addresses []string, err error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, wrong{err}
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", target, err)
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
	if live == nil {
		recorder, start, _, err := w.engine.Run(ctx, p)
		return recorder, start, err
	}
	recorder, _, _, err := w.engine.Run(ctx, live.note(p))
	// Calls are due from when the engine's thread takes the load up, which is a
	// millisecond or so after it was asked.
	return recorder, live.started, err
}

// make appends the message of a call. A template that fails leaves an empty message,
// and its call counts as failed whatever the answer is.
func (w *wireClient) make(n uint64, to []byte) []byte {
	if live := w.live.Load(); live != nil {
		live.sent(n)
	}
	message, err := w.messages.At(data.Call{Number: n})
	if err != nil {
		w.mu.Lock()
		w.unmade[n] = err.Error()
		w.mu.Unlock()
		w.anyUnmade.Store(true)
	}
	return append(to, message...)
}

func (w *wireClient) check(n uint64, answer []byte, backend string) error {
	w.reply.Store(int64(len(answer)))
	if live := w.live.Load(); live != nil {
		live.ended(n, true)
	}
	if !w.anyUnmade.Load() {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	why, failed := w.unmade[n]
	if !failed {
		return nil
	}
	delete(w.unmade, n)
	return fmt.Errorf("the message cannot be made: %s", why)
}

func (w *wireClient) ReplyBytes() int { return int(w.reply.Load()) }

func (w *wireClient) Close() error { return w.engine.Close() }
