// Package caller is what makes the calls: it takes a target, a workload and a pace,
// and yields a measurement.
package caller

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc/resolver"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

// Target is what to dial, as a route yields it. ServiceConfig and Env serve a client in
// any language, Foreign all but our own; Dial and Resolvers are for Go callers.
type Target struct {
	URI string
	// Foreign is what a client in another language dials in its place, which has neither Dial
	// nor Resolvers: host:port, or a URI of every gRPC; empty: it cannot take this way.
	Foreign string
	// ServiceConfig is gRPC's JSON service config; empty: the client's default.
	ServiceConfig string
	// Env is NAME=value of the client's process, such as where its control plane is.
	Env []string
	// Dial opens a connection to the address that was resolved; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Resolvers must be known to the Go channel.
	Resolvers []resolver.Builder
	// Close frees what the route holds; never nil.
	Close func()
}

// Job is what a caller is asked to do. It crosses processes as JSON.
type Job struct {
	Channels Channels      `json:"channels"`
	Timeout  time.Duration `json:"timeout"` // deadline of a call, from when it is sent
	Late     time.Duration `json:"late"`    // how long after it was due an answer is late; 0: [measure.Late]
	Workload workload.Spec `json:"workload"`
	REST     bool          `json:"rest,omitempty"` // calls are POSTs of JSON, not gRPC
	Hedge    *Hedge        `json:"hedge,omitempty"`
	Stream   *Stream       `json:"stream,omitempty"`
	Compress bool          `json:"compress,omitempty"` // with gzip
	// Iterations is how many calls one stands for that a gateway makes; 0: there is none.
	Iterations int `json:"iterations,omitempty"`
	// Calculations say how a calculator is called; nil: the workload is another.
	Calculations *Calculations `json:"calculations,omitempty"`
}

// Hedge makes a call again that has no answer yet (gRFC A6). Retries are not here: a
// target's service config asks for them.
type Hedge struct {
	Attempts int           `json:"attempts"` // in all, at least 2
	Delay    time.Duration `json:"delay"`    // from one to the next
}

// Stream makes calls messages on streams that stay open.
type Stream struct {
	// Renew is the age at which a stream is closed between two messages; 0: never.
	Renew time.Duration `json:"renew,omitempty"`
	// Pipelined messages are sent whatever the answers do.
	Pipelined bool `json:"pipelined,omitempty"`
}

// Caller is a client library under test.
type Caller interface {
	// Open prepares the channels of a job. It need not connect.
	Open(Job, Target) (Session, error)
}

// Session makes calls over the channels of one job.
type Session interface {
	// Run makes the calls of a pace, at its cue, and returns when the last one has ended,
	// with the moment from which they were due; when ctx ends it makes no more and gives
	// up those under way. What calls did is in the recorder, with the CPU time that they
	// cost, never in the error.
	Run(context.Context, pace.Pace, measure.Cue) (*measure.Recorder, time.Time, error)
	Close() error
}
