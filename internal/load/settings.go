// Package load is `rpclab load`: one target, one pace, one result.
package load

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"rpclab/internal/load/request"
	"rpclab/internal/nearest"
)

// ErrRequest: what was asked for is wrong, and nothing was called.
var ErrRequest = request.ErrWrong

// Settings are a load as the command line says it. Zero values are the defaults
// where a field says so.
type Settings struct {
	Target string // HOST:PORT, or a URL when HTTP is set
	HTTP   string // method of REST calls, such as GET; empty: gRPC
	HTTP2  bool   // they are made over HTTP/2, not HTTP/1.1

	Call        string   // package.Service/Method
	Proto       string   // a .proto file; empty: ask the server, or use Protoset
	ImportPaths []string // where it and its imports are
	Protoset    string   // a compiled descriptor set

	Data     string // JSON, @FILE or @-
	Binary   bool   // the data is one message as it is
	Metadata []string
	TLS      TLS
	Stdin    io.Reader

	Rate        float64 // calls/s; 0: see Stages, then Concurrency
	Stages      string  // DURATION:RATE,…
	Poisson     bool
	MaxInFlight int // of an open loop
	Concurrency int // users of a closed loop
	Think       time.Duration
	Duration    time.Duration // 0: until Calls are made, or with neither 10 s
	Calls       uint64        // 0: does not bound the load
	Seed        uint64        // of random arrivals

	Warmup      int // calls made before, which nobody counts
	Timeout     time.Duration
	Connections int    // 0: one, or as many as needed for HTTP/1.1
	PerCall     bool   // a connection for each call instead
	Messages    int    // sent in each call of a stream; 0: 1
	PingPong    bool   // each of them waits for the answer to the one before it
	Engine      string // [Wire] or [GRPCGo]
	Cores       int    // threads of the engine wire; 0: 1
	Connecting
}

// The engines that make gRPC calls.
const (
	Wire   = "wire"    // our own
	GRPCGo = "grpc-go" // as an application would
)

// httpMethods are those of REST calls.
var httpMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// engine is what makes the calls.
func (s Settings) engine() string {
	if s.HTTP != "" {
		return Wire
	}
	return s.Engine
}

// threads is how many processors the generator can keep busy.
func (s Settings) threads() int {
	if s.engine() == Wire {
		if s.PerCall || s.asNeeded() {
			return max(s.Cores, 1)
		}
		return max(min(s.Cores, s.Connections), 1)
	}
	return runtime.GOMAXPROCS(0)
}

// ByDefault is how long a load takes that says neither duration nor number of calls.
const ByDefault = 10 * time.Second

// Check says what is wrong with settings before anything is opened.
func (s Settings) Check() error {
	for _, check := range []func() error{s.checkTarget, s.checkPace, s.checkNumbers, s.checkConnecting} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s Settings) checkTarget() error {
	switch {
	case s.HTTP != "" && !slices.Contains(httpMethods, s.HTTP):
		return request.Wrongf("--http %s: no such method%s", s.HTTP, nearest.Suggest(s.HTTP, httpMethods))
	case s.HTTP != "" && (s.Call != "" || s.Proto != "" || s.Protoset != ""):
		return request.Wrongf("--http is for REST; --call, --proto and --protoset are for gRPC")
	case s.HTTP == "" && s.HTTP2:
		return request.Wrongf("--http2 is for REST, by --http GET or POST; gRPC is over HTTP/2 anyway")
	case s.HTTP != "" && s.Engine == GRPCGo:
		return request.Wrongf("--engine %s makes gRPC calls only: leave it out with --http", GRPCGo)
	case s.httpVersion() == 1 && (s.Streams != 0 || s.KeepAlive != 0):
		return request.Wrongf("--streams and --keepalive are of HTTP/2: leave them out, or add --http2")
	case s.HTTP != "" && (s.Messages != 0 || s.PingPong):
		return request.Wrongf("--messages and --ping-pong are of gRPC streams; --http has none")
	case s.HTTP != "":
		u, err := url.Parse(s.Target)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return request.Wrongf("%q is no URL: write one such as http://127.0.0.1:8080/path", s.Target)
		}
		if u.Scheme == "http" && s.TLS != (TLS{}) {
			return request.Wrongf("%q is clear text, which has no TLS: write https:", s.Target)
		}
		return nil
	case s.Engine != Wire && s.Engine != GRPCGo:
		return request.Wrongf("--engine %s: no such engine%s", s.Engine, nearest.Suggest(s.Engine, []string{Wire, GRPCGo}))
	case s.Cores > 1 && s.Engine != Wire:
		return request.Wrongf("--cores is of the engine wire; others use every processor")
	case s.PerCall && s.Engine != Wire:
		return request.Wrongf("--connections per-call needs --engine %s", Wire)
	case s.Call == "":
		return request.Wrongf("say what to call: --call package.Service/Method, or --http GET for REST")
	case s.Proto != "" && s.Protoset != "":
		return request.Wrongf("--proto and --protoset both say where the method is: give one of them")
	case len(s.ImportPaths) > 0 && s.Proto == "":
		return request.Wrongf("--import-path is where the imports of --proto are, and there is no --proto")
	case strings.Contains(s.Target, "://"):
		return request.Wrongf("%q is a URL: gRPC takes HOST:PORT, and --http GET a URL", s.Target)
	}
	host, port, err := net.SplitHostPort(s.Target)
	if err != nil || host == "" || port == "" {
		return request.Wrongf("%q is no address: write HOST:PORT, such as 127.0.0.1:50051", s.Target)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return request.Wrongf("%q: %s is no port: write a number from 1 to 65535", s.Target, port)
	}
	return nil
}

func (s Settings) checkPace() error {
	open := s.Rate != 0 || s.Stages != ""
	switch {
	case s.Rate != 0 && s.Stages != "":
		return request.Wrongf("--rate and --stages both say when calls are due: give one of them")
	case open && s.Concurrency != 0:
		return request.Wrongf("--concurrency is of a closed loop, which has no --rate or --stages: give one of them (--max-in-flight bounds an open loop)")
	case open && s.Think != 0:
		return request.Wrongf("--think is what users of a closed loop (--concurrency) do between calls")
	case !open && s.Poisson:
		return request.Wrongf("--arrivals is of an open loop: give --rate or --stages")
	case s.Stages != "" && s.Duration != 0:
		return request.Wrongf("--stages say how long they take; leave out --duration")
	}
	return nil
}

func (s Settings) checkNumbers() error {
	for _, n := range []struct {
		flag string
		fits bool
		rule string
	}{
		{"--rate", s.Rate >= 0 && s.Rate <= MaxRate, fmt.Sprintf("has to be more than 0 calls/s and at most %.0f", float64(MaxRate))},
		{"--concurrency", s.Concurrency >= 0 && s.Concurrency <= MaxUsers, fmt.Sprintf("has to be 1 to %d", MaxUsers)},
		{"--connections", s.Connections >= 0 && s.Connections <= MaxUsers, fmt.Sprintf("has to be 1 to %d", MaxUsers)},
		{"--messages", s.Messages >= 0 && s.Messages <= MaxUsers, fmt.Sprintf("has to be 1 to %d", MaxUsers)},
		{"--max-in-flight", s.MaxInFlight > 0 && s.MaxInFlight <= MaxUsers, fmt.Sprintf("has to be 1 to %d", MaxUsers)},
		{"--cores", s.Cores >= 0 && s.Cores <= runtime.NumCPU(), fmt.Sprintf("has to be 1 to %d, the processors of this machine", runtime.NumCPU())},
		{"--warmup", s.Warmup >= 0, "has to be a number of calls, or 0"},
		{"--think", s.Think >= 0, "has to be a time such as 100ms"},
		{"--duration", s.Duration >= 0, "has to be a time such as 10s"},
		{"--timeout", s.Timeout > 0, "has to be a time such as 20s"},
	} {
		if !n.fits {
			return request.Wrongf("%s %s", n.flag, n.rule)
		}
	}
	return nil
}

// The bounds of what can be asked for: more is a slip of the hand.
const (
	MaxRate  = 10_000_000
	MaxUsers = 1_000_000
)
