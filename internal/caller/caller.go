// Package caller defines callers, which make calls: a [Caller] opens a target for a workload, makes calls
// at a pace, and returns a measurement.
package caller

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc/resolver"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service"
	"rpclab/internal/workload"
)

// Target is what to dial, as a route yields it. ServiceConfig and Env serve clients in every
// language; Dial and Resolvers serve Go clients only.
type Target struct {
	URI string
	// PortableURI is what clients in other languages dial instead of URI: host:port, or a URI
	// that every gRPC library understands. Empty: only Go clients support this route.
	PortableURI string
	// ServiceConfig is gRPC's JSON service config; empty: the client's default.
	ServiceConfig string
	// Env is set in the client's process (NAME=value), for example the xDS bootstrap.
	Env []string
	// Dial opens a connection to a resolved address; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Resolvers are registered with the Go channel.
	Resolvers []resolver.Builder
	// Close releases what the route holds; never nil.
	Close func()
}

// Job describes the calls that a caller makes. It is sent to other processes as JSON.
type Job struct {
	Channels Channels      `json:"channels"`
	Timeout  time.Duration `json:"timeout"` // deadline of a call, counted from when the call starts
	Late     time.Duration `json:"late"`    // a response that follows the due time by more counts as late; 0: [measure.DefaultLateAfter]
	Workload workload.Spec `json:"workload"`
	// Calls are the calls of a user's service, a mix if there are several; empty: calls of the workload.
	Calls  []service.Spec `json:"calls,omitempty"`
	Flow   bool           `json:"flow,omitempty"`  // Calls are a flow: what is due is all of them in their order
	REST   bool           `json:"rest,omitempty"`  // calls are JSON POST requests, not gRPC
	HTTP2  bool           `json:"http2,omitempty"` // HTTP requests use HTTP/2, without TLS if the service has none
	Hedge  *Hedge         `json:"hedge,omitempty"`
	Stream *Stream        `json:"stream,omitempty"`
	// Keepalive of connections; nil: none.
	Keepalive *Keepalive `json:"keepalive,omitempty"`
	Compress  bool       `json:"compress,omitempty"` // with gzip
	// Iterations is how many calls a gateway makes for one request; 0: no gateway.
	Iterations int `json:"iterations,omitempty"`
	// Calculator says how the calculator is called; nil: another workload.
	Calculator *CalculatorOptions `json:"calculator,omitempty"`
	Limits     Limits             `json:"limits,omitzero"`
	// Command is the user's client that makes the calls; nil: another caller.
	Command *Command `json:"command,omitempty"`
}

// Limits are limits of the process that makes the calls; 0: none.
type Limits struct {
	OpenFiles uint64 `json:"open_files,omitempty"`
	Memory    uint64 `json:"memory,omitempty"` // for data, bytes
}

// Command is a client of the user's.
type Command struct {
	Args         []string      `json:"args"` // program and arguments
	Dir          string        `json:"dir"`  // working directory
	Env          []string      `json:"env,omitempty"`
	Call         string        `json:"call"` // the name of the call that it makes
	ReadyTimeout time.Duration `json:"ready_timeout"`
	// Callers is how many callers share a load, and Caller is the number of this one, from 0: no two give their clients
	// the same number of a call. 0: there is one.
	Caller  uint64 `json:"caller,omitempty"`
	Callers uint64 `json:"callers,omitempty"`
}

// Hedge sends further attempts of a call that has no response yet (gRFC A6). Retries are
// configured by the target's service config instead.
type Hedge struct {
	Attempts int           `json:"attempts"` // in total, at least 2
	Delay    time.Duration `json:"delay"`    // between two attempts
}

// Keepalive finds out by PINGs that a connection is dead (gRFC A8).
type Keepalive struct {
	Time         time.Duration `json:"time_ns"`    // without data, until a PING; at least 10 s
	Timeout      time.Duration `json:"timeout_ns"` // until the response
	WithoutCalls bool          `json:"without_calls,omitempty"`
}

// Stream sends calls as messages on streams that stay open.
type Stream struct {
	// Renew is the age at which a stream is replaced between two messages; 0: never.
	Renew time.Duration `json:"renew,omitempty"`
	// Pipelined messages are sent without waiting for responses.
	Pipelined bool `json:"pipelined,omitempty"`
	// Users is how many users of the load each caller has.
	Users int `json:"users,omitempty"`
}

// Caller is a client library under test.
type Caller interface {
	// Open prepares the channels of a job. It may connect later.
	Open(Job, Target) (Session, error)
}

// Session makes calls over the channels of one job.
type Session interface {
	// Run makes the calls of a pace and returns when the last one has ended. It returns the
	// recorder and the time from which calls were due. When ctx ends, Run starts no further
	// calls and cancels those in flight. Outcomes of calls and the CPU time they cost are in
	// the recorder, never in the error.
	Run(context.Context, pace.Pace, measure.StartSignal) (*measure.Recorder, time.Time, error)
	Close() error
}
