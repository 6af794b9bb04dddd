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

// Load is a load that is ready to run: connected, with its method and messages.
type Load struct {
	settings Settings
	method   string // full name of the method, or method and URL
	pace     pace.Pace
	stream   *stream // nil: unary
	messages *data.Messages
	client   Client
	selfTest func(context.Context, Probe) (*SelfTestResult, error)
}

// Open prepares a load. Errors of the request match [ErrInvalid]; others report what went wrong
// with the target.
func Open(ctx context.Context, settings Settings) (*Load, error) {
	if err := settings.Check(); err != nil {
		return nil, err
	}
	if err := settings.checkFiles(); err != nil {
		return nil, err
	}
	plan, err := settings.Pace()
	if err != nil {
		return nil, err
	}
	load := &Load{settings: settings, pace: plan, selfTest: SelfTest}
	if settings.HTTP != "" {
		err = load.openHTTP(ctx)
	} else {
		err = load.openGRPC(ctx)
	}
	if err != nil {
		return nil, err
	}
	return load, nil
}

func (l *Load) openGRPC(ctx context.Context) error {
	settings := l.settings
	headers, err := settings.headers()
	if err != nil {
		return err
	}
	md, err := grpcMetadata(headers)
	if err != nil {
		return err
	}
	security, err := settings.TLS.Config()
	if err != nil {
		return err
	}
	found, err := settings.findMethod(ctx, security, md)
	if err != nil {
		return err
	}
	if l.messages, err = settings.messages(found.Input()); err != nil {
		return err
	}
	if l.stream, err = settings.stream(found); err != nil {
		return err
	}
	path := method.Path(found)
	l.method = path[1:]
	if settings.Engine == Wire {
		wired, err := openWire(ctx, wireConfig{
			target: settings.Target, connections: max(settings.Connections, 1), cores: max(settings.Cores, 1), security: security,
			timeout: settings.Timeout, path: path, fields: fields(md), messages: l.messages, stream: l.stream,
			pace: l.pace, perCall: settings.PerCall, connecting: settings.ConnectionOptions,
		})
		if err != nil {
			return err
		}
		l.client = wired
		return nil
	}
	client, err := openGRPC(ctx, settings.Target, max(settings.Connections, 1), security, nil)
	if err != nil {
		return err
	}
	client.path, client.headers, client.timeout, client.messages = path, md, settings.Timeout, l.messages
	l.client = client
	return nil
}

// findMethod finds the method's description in files, or asks the server over a separate
// connection.
func (s Settings) findMethod(ctx context.Context, security *tls.Config, md metadata.MD) (found protoreflect.MethodDescriptor, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	source, err := s.source(ctx)
	if err != nil {
		return nil, err
	}
	if source == nil {
		reflector, err := openGRPC(ctx, s.Target, 1, security, nil)
		if err != nil {
			return nil, err
		}
		defer reflector.Close()
		source = method.FromServer(reflector.channels[0], md)
	}
	found, err = method.Find(ctx, source, s.Call)
	if errors.Is(err, request.ErrInvalid) {
		return nil, request.Invalidf("--call %s: %w", s.Call, err)
	}
	return found, err
}

// source returns where the method is described; nil: server reflection.
func (s Settings) source(ctx context.Context) (source method.Source, err error) {
	switch {
	case s.Proto != "":
		source, err = method.FromProto(ctx, s.Proto, s.ImportPaths)
	case s.Protoset != "":
		source, err = method.FromSet(s.Protoset)
	}
	if err != nil {
		return nil, request.Invalid(err)
	}
	return source, nil
}

// messages parses the data as messages of a type; nil: as an HTTP request body.
func (s Settings) messages(of protoreflect.MessageDescriptor) (*data.Messages, error) {
	text, name, err := data.Read(s.Data, s.Stdin)
	if err != nil {
		return nil, request.Invalid(err)
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
		return nil, request.Invalid(err)
	}
	return all, nil
}

// Close closes the connections.
func (l *Load) Close() error { return l.client.Close() }

// Run makes the calls and returns the result. When ctx ends during the load, the result contains
// what was measured and is marked as partial; when ctx ends during the warm-up, Run returns an
// error. live may be nil. Run measures the generator's own limits after the load, unless ctx
// has ended.
func (l *Load) Run(ctx context.Context, live *Progress) (result.Document, error) {
	if l.settings.Warmup > 0 {
		live.setPhase("warming up")
		users := min(l.settings.Warmup, l.pace.InFlight())
		if _, _, err := l.client.Run(ctx, pace.Closed{Users: users, Calls: uint64(l.settings.Warmup)}, nil); err != nil {
			return result.Document{}, fmt.Errorf("warm-up: %w", err)
		}
		if ctx.Err() != nil {
			return result.Document{}, fmt.Errorf("%w during the warm-up, before anything was measured", ctx.Err())
		}
	}
	live.setPhase("")
	measured, err := measureRun(func() (*measure.Recorder, time.Time, error) { return l.client.Run(ctx, l.pace, live) })
	if err != nil {
		return result.Document{}, err
	}
	partial := ctx.Err() != nil
	var selfTest *SelfTestResult
	if !partial {
		live.setPhase("measuring the generator itself")
		selfTest, err = l.selfTest(ctx, l.probe())
		switch {
		case ctx.Err() != nil:
			selfTest = nil // leave out an incomplete self-test; the load itself is complete
		case err != nil:
			return result.Document{}, fmt.Errorf("measure the generator itself: %w", err)
		}
	}
	return l.document(measured, selfTest, partial)
}

// measureRun runs a load and adds the resources that this process used.
func measureRun(run func() (*measure.Recorder, time.Time, error)) (measured measure.Measurement, err error) {
	before, err := measure.CPU(os.Getpid())
	if err != nil {
		return measured, err
	}
	recorder, started, err := run()
	if err != nil {
		return measured, err
	}
	after, err := measure.CPU(os.Getpid())
	if err != nil {
		return measured, err
	}
	if measured, err = recorder.Measurement(); err != nil {
		return measured, err
	}
	measured.Started, measured.CPU = started, after-before
	measured.MaxRSS, err = measure.MaxRSS(os.Getpid())
	return measured, err
}
