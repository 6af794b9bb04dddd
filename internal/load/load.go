package load

import (
	"context"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/pace"
	"rpclab/internal/process/running"
	"rpclab/internal/service/data"
	"rpclab/internal/service/request"
	"rpclab/internal/service/stream"
)

// Load is a load that is ready to run: connected, with its method and messages.
type Load struct {
	settings Settings
	method   string // full name of the method, or method and URL
	pace     pace.Pace
	stream   *stream.Stream // nil: unary
	messages *data.Messages
	to       target // which it dials
	client   Client
	selfTest func(context.Context, Probe) (*SelfTestResult, error)

	ID string // of the result; empty: a new one
	// OtherRuns returns the other runs of rpclab that use this machine now; nil: not known.
	OtherRuns func() []running.Run
}

// selfTestPhase is the duration of each measurement after a load.
const selfTestPhase = 150 * time.Millisecond

// probe returns the settings of a self-test with the load's engine and message sizes.
func (l *Load) probe() Probe {
	message, _ := l.messages.For(data.Call{}) // checked before
	return Probe{Engine: l.settings.engine(), HTTP: l.settings.httpVersion(), Request: len(message), Reply: l.client.ReplyBytes(), Duration: selfTestPhase, Self: l.settings.Self}
}

// Close closes the connections.
func (l *Load) Close() error { return l.client.Close() }

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
