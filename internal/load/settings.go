// Package load implements `rpclab load`: one target, one pace, one result.
package load

import (
	"cmp"
	"io"
	"net/url"
	"runtime"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/service/request"
	"rpclab/internal/service/stream"
)

// ErrInvalid means that the request is invalid and no call was made.
var ErrInvalid = request.ErrInvalid

// Settings are the flags of a load. A zero value means the default where the field says so.
type Settings struct {
	Target  string // see [parseTarget], or a URL when HTTP is set
	Balance string // [PickFirst] or [RoundRobin]; empty: PickFirst
	HTTP    string // method of REST calls, such as GET; empty: gRPC
	HTTP2   bool   // REST calls over HTTP/2 instead of HTTP/1.1

	Call        string   // package.Service/Method
	Proto       string   // a .proto file; empty: Protoset, or server reflection
	ImportPaths []string // where the file and its imports are
	Protoset    string   // a compiled descriptor set

	Data      string   // JSON, @FILE or @-
	Binary    bool     // the data is one encoded message
	Metadata  []string // key: value; a value may be a template
	Compress  string   // [Gzip], or empty: messages are not compressed
	UserAgent string   // before the engine's own; of REST calls instead of it
	Authority string   // :authority, or the Host header of REST calls; empty: the server name of TLS, or the target
	TLS       TLS
	Stdin     io.Reader
	Self      []string // command line of this program, which also runs the server of the self-test

	Rate        float64 // calls/s; 0: Stages, or else Concurrency
	Stages      string  // DURATION:RATE,…
	Poisson     bool
	MaxInFlight int // of an open loop
	Concurrency int // users of a closed loop
	Think       time.Duration
	Duration    time.Duration // 0: until Calls are made, or [DefaultDuration] without Calls
	Calls       uint64        // 0: no limit
	Seed        uint64        // of random arrivals
	Rounds      int           // how often the load is made; 0: once
	// Search makes loads at several rates instead, to find the highest that holds; nil: no search.
	Search *experiment.Search

	Warmup      int           // calls before the measurement
	WarmupMax   time.Duration // limit of the warm-up until rate and latency are steady; 0: none
	Timeout     time.Duration
	Connections int  // 0: one, or on demand for HTTP/1.1
	PerCall     bool // open a connection for each call
	Messages    int  // sent in each call of a stream; 0: 1
	NoMessages  bool // calls of a stream send none
	PingPong    bool // each message is sent after the response to the last one
	// rpclab ends a stream after this many responses, or this long after it was sent; 0: the server
	// ends it.
	StreamMessages int
	StreamDuration time.Duration
	StreamEmpty    bool   // a stream that StreamDuration ends succeeds without a response
	NoDecode       bool   // accept responses that cannot be decoded
	Engine         string // [Wire] or [GRPCGo]
	Cores          int    // threads of the engine wire; 0: 1
	ConnectionOptions
	ResponseLimits
}

// ResponseLimits are the largest responses that are accepted, in bytes.
type ResponseLimits struct {
	MaxHeaderList int // all header fields, as RFC 9113, section 6.5.2, counts; 0: [DefaultMaxHeaderList]
	MaxMessage    int // a message, or a body over HTTP; 0: [DefaultMaxMessage]
}

// The limits of grpc-go.
const (
	DefaultMaxHeaderList = 16 << 20
	DefaultMaxMessage    = 4 << 20
)

// ConnectionOptions say how connections are opened and kept. Only the engine wire supports them.
type ConnectionOptions struct {
	Streams     int           // calls in flight on each connection; 0: the server's limit
	ConnectRate float64       // connections opened per second; 0: no limit
	Sources     []string      // local addresses and prefixes, used in turn; nil: chosen by the system
	KeepAlive   time.Duration // idle time before a PING is sent; 0: never
	IdleClose   time.Duration // time without a call before a connection is closed; 0: never
}

// Engines that make gRPC calls.
const (
	Wire   = "wire"    // rpclab's own
	GRPCGo = "grpc-go" // the library of applications in Go
)

// Policies that choose among the addresses of a target, as in gRPC.
const (
	PickFirst  = "pick_first"  // the first that works
	RoundRobin = "round_robin" // all in turn
)

// Gzip is the compression of messages that gRPC supports everywhere.
const Gzip = "gzip"

// authority returns the value of :authority for a target: as in grpc-go, the name that TLS verifies
// is also the name of the calls.
func (s Settings) authority(target string) string {
	return cmp.Or(s.Authority, s.TLS.ServerName, target)
}

// engine returns the engine that makes the calls.
func (s Settings) engine() string {
	if s.HTTP != "" {
		return Wire
	}
	return s.Engine
}

// httpVersion is the version of REST calls; 0: gRPC.
func (s Settings) httpVersion() int {
	switch {
	case s.HTTP == "":
		return 0
	case s.HTTP2:
		return 2
	}
	return 1
}

// connectsOnDemand reports whether each call in flight may open a connection if none is free.
func (s Settings) connectsOnDemand() bool {
	return s.httpVersion() == 1 && s.Connections == 0 && !s.PerCall
}

// streams returns the options of streaming methods.
func (s Settings) streams() stream.Options {
	return stream.Options{
		Requests: s.Messages, NoRequests: s.NoMessages, PingPong: s.PingPong, MaxResponses: s.StreamMessages, MaxDuration: s.StreamDuration, NeedsResponse: !s.StreamEmpty, Timeout: s.Timeout,
	}
}

// ofRound returns the settings of a round (from 0). Each has other random arrivals, or the rounds would
// not be independent.
func (s Settings) ofRound(n int) Settings {
	s.Seed += uint64(n)
	return s
}

// usesTLS reports whether connections use TLS.
func (s Settings) usesTLS() bool {
	u, err := url.Parse(s.Target)
	return s.TLS != TLS{} || s.HTTP != "" && err == nil && u.Scheme == "https"
}

// threads returns how many processors the generator can use. A connection with TLS has goroutines of its own.
func (s Settings) threads() int {
	if s.engine() == Wire && !s.usesTLS() {
		return s.wireThreads()
	}
	return runtime.GOMAXPROCS(0)
}

// wireThreads returns the threads of the engine wire.
func (s Settings) wireThreads() int {
	if s.PerCall || s.connectsOnDemand() {
		return max(s.Cores, 1)
	}
	return max(min(s.Cores, s.Connections), 1)
}

// DefaultDuration is the duration of a load with neither duration nor number of calls.
const DefaultDuration = 10 * time.Second

// Limits of settings. Values beyond them are most likely typing errors.
const (
	MinRate  = 0.001
	MaxRate  = 10_000_000
	MaxUsers = 1_000_000
	// MaxRounds limits the memory of a result, which holds every round.
	MaxRounds = 1000
)
