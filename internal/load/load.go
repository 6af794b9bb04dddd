package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/load/data"
	"rpclab/internal/load/method"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

// Load is a load that is ready: connected, with its method found and its messages made.
type Load struct {
	settings Settings
	what     string // is called
	pace     pace.Pace
	messages *data.Messages
	client   Client
}

// Open makes everything ready. Errors that are the request's own match [ErrRequest];
// others say what the target refused.
func Open(ctx context.Context, s Settings) (*Load, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	p, err := s.Pace()
	if err != nil {
		return nil, err
	}
	l := &Load{settings: s, pace: p}
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

func (l *Load) openHTTP(ctx context.Context) error {
	s := l.settings
	l.what = s.HTTP + " " + s.Target
	headers, err := s.headers()
	if err != nil {
		return err
	}
	security, err := s.TLS.Config()
	if err != nil {
		return err
	}
	if l.messages, err = s.messages(nil); err != nil {
		return err
	}
	client, err := openHTTP(ctx, s.HTTP, s.Target, headers, s.Connections, l.pace.InFlight(), security, nil)
	if err != nil {
		return err
	}
	client.timeout = s.Timeout
	l.client = client
	return nil
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
	source, err := s.source(ctx)
	if err != nil {
		return err
	}
	client, err := openGRPC(ctx, s.Target, max(s.Connections, 1), security, nil)
	if err != nil {
		return err
	}
	client.headers, client.timeout, l.client = md, s.Timeout, client
	if source == nil {
		source = method.FromServer(client.channels[0], md)
	}
	if err := l.find(ctx, source, client); err != nil {
		return errors.Join(err, client.Close())
	}
	return nil
}

// find learns from a source what the method takes, and makes the messages.
func (l *Load) find(ctx context.Context, source method.Source, client *grpcClient) error {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	found, err := method.Find(ctx, source, l.settings.Call)
	if errors.Is(err, method.ErrRequest) {
		return wrongf("--call %s: %w", l.settings.Call, err)
	} else if err != nil {
		return err
	}
	client.path = method.Path(found)
	l.what = client.path[1:]
	l.messages, err = l.settings.messages(found.Input())
	return err
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
		return nil, wrong{err}
	}
	return source, nil
}

// messages reads the data for a type of message; nil: it is the body of an HTTP request.
func (s Settings) messages(of protoreflect.MessageDescriptor) (*data.Messages, error) {
	text, name, err := data.Read(s.Data, s.Stdin)
	if err != nil {
		return nil, wrong{err}
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
		return nil, wrong{err}
	}
	return all, nil
}

// Live returns a watch for the load, to be given to Run.
func (l *Load) Live() *Live { return NewLive(l.pace.InFlight()) }

// Close ends the connections.
func (l *Load) Close() error { return l.client.Close() }

// Run makes the calls and returns the result. When ctx ends before the load does, the
// result is of what was measured until then, and marked as partial. live may be nil.
func (l *Load) Run(ctx context.Context, live *Live) (result.Document, error) {
	if l.settings.Warmup > 0 {
		users := min(l.settings.Warmup, l.pace.InFlight())
		l.client.Run(ctx, pace.Closed{Users: users, Calls: uint64(l.settings.Warmup)}, l.messages, nil)
	}
	m, err := measured(func() (*measure.Recorder, time.Time) { return l.client.Run(ctx, l.pace, l.messages, live) })
	if err != nil {
		return result.Document{}, err
	}
	partial := ctx.Err() != nil
	var ability *Ability
	if !partial {
		if ability, err = SelfTest(ctx, l.ability()); err != nil && ctx.Err() == nil {
			return result.Document{}, fmt.Errorf("measure the generator itself: %w", err)
		}
	}
	return l.document(m, ability, partial)
}

// measured runs a load and adds what it cost this process.
func measured(run func() (*measure.Recorder, time.Time)) (m measure.Measurement, err error) {
	before, err := measure.CPU(os.Getpid())
	if err != nil {
		return m, err
	}
	recorder, started := run()
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
