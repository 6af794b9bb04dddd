package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/load/data"
	"rpclab/internal/load/method"
	"rpclab/internal/load/request"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

// Load is a load that is ready: connected, with its method found and its messages made.
type Load struct {
	settings Settings
	what     string // is called
	pace     pace.Pace
	stream   *stream // nil: calls are not streams
	messages *data.Messages
	client   Client
	selfTest func(context.Context, Probe) (*Ability, error)
}

// Open makes everything ready. Errors that are the request's own match [ErrRequest];
// others say what the target refused.
func Open(ctx context.Context, s Settings) (*Load, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := s.checkFiles(); err != nil {
		return nil, err
	}
	p, err := s.Pace()
	if err != nil {
		return nil, err
	}
	l := &Load{settings: s, pace: p, selfTest: SelfTest}
	if s.HTTP != "" {
		err = l.openHTTP(ctx)
	} else {
		err = l.openGRPC(ctx)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Load) openGRPC(ctx context.Context) error {
	s := l.settings
	headers, err := s.headers()
	if err != nil {
		return err
	}
	md, err := grpcMetadata(headers)
	if err != nil {
		return err
	}
	security, err := s.TLS.Config()
	if err != nil {
		return err
	}
	found, err := s.find(ctx, security, md)
	if err != nil {
		return err
	}
	if l.messages, err = s.messages(found.Input()); err != nil {
		return err
	}
	if l.stream, err = s.stream(found); err != nil {
		return err
	}
	path := method.Path(found)
	l.what = path[1:]
	if s.Engine == Wire {
		wired, err := openWire(ctx, wireConfig{
			target: s.Target, connections: max(s.Connections, 1), cores: max(s.Cores, 1), security: security,
			timeout: s.Timeout, path: path, fields: fields(md), messages: l.messages, stream: l.stream,
			pace: l.pace, perCall: s.PerCall, connecting: s.Connecting,
		})
		if err != nil {
			return err
		}
		l.client = wired
		return nil
	}
	client, err := openGRPC(ctx, s.Target, max(s.Connections, 1), security, nil)
	if err != nil {
		return err
	}
	client.path, client.headers, client.timeout, client.messages = path, md, s.Timeout, l.messages
	l.client = client
	return nil
}

// find learns what the method takes: from files, or from the server on a connection
// of its own.
func (s Settings) find(ctx context.Context, security *tls.Config, md metadata.MD) (found protoreflect.MethodDescriptor, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	source, err := s.source(ctx)
	if err != nil {
		return nil, err
	}
	if source == nil {
		asked, err := openGRPC(ctx, s.Target, 1, security, nil)
		if err != nil {
			return nil, err
		}
		defer asked.Close()
		source = method.FromServer(asked.channels[0], md)
	}
	found, err = method.Find(ctx, source, s.Call)
	if errors.Is(err, request.ErrWrong) {
		return nil, request.Wrongf("--call %s: %w", s.Call, err)
	}
	return found, err
}

// source is where the method is described; nil: the server says it.
func (s Settings) source(ctx context.Context) (source method.Source, err error) {
	switch {
	case s.Proto != "":
		source, err = method.FromProto(ctx, s.Proto, s.ImportPaths)
	case s.Protoset != "":
		source, err = method.FromSet(s.Protoset)
	}
	if err != nil {
		return nil, request.Wrong(err)
	}
	return source, nil
}

// messages reads the data for a type of message; nil: it is the body of an HTTP request.
func (s Settings) messages(of protoreflect.MessageDescriptor) (*data.Messages, error) {
	text, name, err := data.Read(s.Data, s.Stdin)
	if err != nil {
		return nil, request.Wrong(err)
	}
	if s.Binary {
		return data.Binary(text), nil
	}
	var all *data.Messages
	if of == nil {
		all, err = data.Text(name, text)
	} else {
		all, err = data.JSON(name, text, of)
	}
	if err != nil {
		return nil, request.Wrong(err)
	}
	return all, nil
}

// Close ends the connections.
func (l *Load) Close() error { return l.client.Close() }

// Run makes the calls and returns the result. When ctx ends before the load does, the
// result is of what was measured until then, and marked as partial; in the warm-up
// nothing is, and that is an error. live may be nil.
// The generator's own figures are measured at the end; they are left out when ctx ends
// before.
func (l *Load) Run(ctx context.Context, live *Live) (result.Document, error) {
	if l.settings.Warmup > 0 {
		live.enter("warming up")
		users := min(l.settings.Warmup, l.pace.InFlight())
		if _, _, err := l.client.Run(ctx, pace.Closed{Users: users, Calls: uint64(l.settings.Warmup)}, nil); err != nil {
			return result.Document{}, fmt.Errorf("warm-up: %w", err)
		}
		if ctx.Err() != nil {
			return result.Document{}, fmt.Errorf("%w in the warm-up, before anything was measured", ctx.Err())
		}
	}
	live.enter("")
	m, err := measured(func() (*measure.Recorder, time.Time, error) { return l.client.Run(ctx, l.pace, live) })
	if err != nil {
		return result.Document{}, err
	}
	partial := ctx.Err() != nil
	var ability *Ability
	if !partial {
		live.enter("measuring the generator itself")
		ability, err = l.selfTest(ctx, l.ability())
		switch {
		case ctx.Err() != nil:
			ability = nil // half a self-test says nothing; the load itself is whole
		case err != nil:
			return result.Document{}, fmt.Errorf("measure the generator itself: %w", err)
		}
	}
	return l.document(m, ability, partial)
}

// measured runs a load and adds what it cost this process.
func measured(run func() (*measure.Recorder, time.Time, error)) (m measure.Measurement, err error) {
	before, err := measure.CPU(os.Getpid())
	if err != nil {
		return m, err
	}
	recorder, started, err := run()
	if err != nil {
		return m, err
	}
	after, err := measure.CPU(os.Getpid())
	if err != nil {
		return m, err
	}
	if m, err = recorder.Measurement(); err != nil {
		return m, err
	}
	m.Started, m.CPU = started, after-before
	m.MaxRSS, err = measure.MaxRSS(os.Getpid())
	return m, err
}
