package load

import (
	"net/url"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
	"rpclab/internal/service/data"
	"rpclab/internal/service/request"
	"rpclab/internal/service/stream"
)

// Load is a load that is ready to run: connected, with its method and messages.
type Load struct {
	settings  Settings
	method    string // full name of the method, or method and URL
	pace      pace.Pace
	stream    *stream.Stream // nil: unary
	messages  *data.Messages
	dataHash  string
	templates bool   // metadata has templates
	to        target // which it dials
	client    Client
}

// Client makes the calls.
func (l *Load) Client() Client { return l.client }

// Settings are those of the load.
func (l *Load) Settings() Settings { return l.settings }

// Pace returns when the calls of a round (from 1) are due.
func (l *Load) Pace(round int) (pace.Pace, error) { return l.settings.ofRound(round - 1).Pace() }

// WarmUp returns the warm-up: calls that are made first, and then the calls of the load without a limit of their number.
func (l *Load) WarmUp() (first pace.Closed, steady pace.Pace) {
	steady = l.pace
	if limited, ok := steady.(limitedPace); ok {
		steady = limited.Pace
	}
	calls := l.settings.Warmup
	return pace.Closed{Users: min(calls, l.pace.InFlight()), Calls: uint64(calls)}, steady
}

// Name returns the name of the target: its address, or the address in its URL.
func (l *Load) Name() string {
	if u, err := url.Parse(l.settings.Target); l.settings.HTTP != "" && err == nil {
		return u.Host
	}
	return l.settings.Target
}

// Question is the question of the result: the method and the load.
func (l *Load) Question() string { return l.method + ": " + l.describe() }

// Rounds is how often the load is made.
func (l *Load) Rounds() int { return max(l.settings.Rounds, 1) }

// Arm returns the arm of the result, without trials.
func (l *Load) Arm() result.Arm {
	return result.Arm{Name: l.Name(), Describe: l.method, Route: "direct", Channel: l.connections(), Config: l.config()}
}

// selfTestPhase is the duration of each measurement after a load.
const selfTestPhase = 60 * time.Millisecond

// Probe returns the settings of a self-test that uses what the load uses.
func (l *Load) Probe() Probe {
	message, _ := l.messages.For(data.Call{}) // checked before
	s := l.settings
	probe := Probe{
		Engine: s.engine(), HTTP: s.httpVersion(), TLS: s.usesTLS(), Connections: s.Connections, Request: len(message), Reply: l.client.ReplyBytes(),
		Duration: selfTestPhase, Self: s.Self, Unlike: l.unlikeSelfTest(),
	}
	if probe.Engine == Wire {
		probe.Cores = s.wireThreads()
	}
	if probe.HTTP != 1 && l.to.balanced() { // each address has as many
		probe.Connections = max(probe.Connections, 1) * len(l.to.addresses)
	}
	return probe
}

// unlikeSelfTest says what of the load a self-test cannot do; empty: it can do all of it.
func (l *Load) unlikeSelfTest() string {
	switch s := l.settings; {
	case l.stream != nil:
		return "the self-test makes unary calls, and this load streams"
	case s.PerCall:
		return "the self-test opens no connection for each call"
	case s.Compress != "":
		return "the self-test does not compress messages"
	case l.templates || l.messages.Templated():
		return "the self-test uses no templates"
	case l.to.hasSockets():
		return "the self-test uses TCP, and this load a Unix socket"
	}
	return ""
}

// Close closes the connections.
func (l *Load) Close() error { return l.client.Close() }

// readMessages parses the data as messages of a type; nil: as an HTTP request body.
func (l *Load) readMessages(of protoreflect.MessageDescriptor) error {
	s := l.settings
	text, name, err := data.Read(s.Data, s.Stdin)
	if err != nil {
		return request.Invalid(err)
	}
	l.dataHash = result.DataHash(string(text))
	switch {
	case s.Binary:
		l.messages = data.Binary(text)
	case of == nil:
		l.messages, err = data.Text(name, text)
	default:
		l.messages, err = data.JSON(name, text, of)
	}
	if err != nil {
		return request.Invalid(err)
	}
	return nil
}

// ServerProcesses returns the [measure.LocalListeners] on the addresses of the target.
func (l *Load) ServerProcesses() (pids []int, known bool) {
	return measure.LocalListeners(l.to.addresses)
}
