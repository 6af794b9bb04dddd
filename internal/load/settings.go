// Package load is `rpclab load`: one target, one pace, one result.
package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"rpclab/internal/experiment"
)

// ErrRequest: what was asked for is wrong, and nothing was called.
var ErrRequest = errors.New("wrong request")

// wrong is an error that matches [ErrRequest] and does not say so in its text.
type wrong struct{ error }

func (w wrong) Is(target error) bool { return target == ErrRequest }
func (w wrong) Unwrap() error        { return w.error }

func wrongf(format string, args ...any) error { return wrong{fmt.Errorf(format, args...)} }

// Settings are a load as the command line says it. Zero values are the defaults
// where a field says so.
type Settings struct {
	Target string // HOST:PORT, or a URL when HTTP is set
	HTTP   string // method of REST calls, GET or POST; empty: gRPC

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
	Connections int    // 0: one for gRPC, as many as needed for HTTP
	Engine      string // [Wire] or [GRPCGo]; of HTTP there is one
	Cores       int    // threads of the engine wire; 0: 1
}

// The engines that make gRPC calls.
const (
	Wire   = "wire"    // our own
	GRPCGo = "grpc-go" // as an application would
)

// engine is what makes the calls.
func (s Settings) engine() string {
	if s.HTTP != "" {
		return "net/http"
	}
	return s.Engine
}

// threads is how many processors the generator can keep busy.
func (s Settings) threads() int {
	if s.engine() == Wire {
		return max(min(s.Cores, s.Connections), 1)
	}
	return runtime.GOMAXPROCS(0)
}

// ByDefault is how long a load takes that says neither duration nor number of calls.
const ByDefault = 10 * time.Second

// Check says what is wrong with settings before anything is opened.
func (s Settings) Check() error {
	for _, check := range []func() error{s.checkTarget, s.checkPace, s.checkNumbers} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s Settings) checkTarget() error {
	switch {
	case s.HTTP != "" && !slices.Contains([]string{"GET", "POST"}, s.HTTP):
		return wrongf("--http %s: there are GET and POST", s.HTTP)
	case s.HTTP != "" && (s.Call != "" || s.Proto != "" || s.Protoset != ""):
		return wrongf("--http is for REST; --call, --proto and --protoset are for gRPC")
	case s.HTTP != "":
		u, err := url.Parse(s.Target)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return wrongf("%q is no URL: write one such as http://127.0.0.1:8080/path", s.Target)
		}
		return nil
	case s.Engine != Wire && s.Engine != GRPCGo:
		return wrongf("--engine %s: no such engine%s", s.Engine, experiment.Suggest(s.Engine, []string{Wire, GRPCGo}))
	case s.Cores > 1 && (s.Engine != Wire || s.HTTP != ""):
		return wrongf("--cores is of the engine wire; others use every processor")
	case s.Call == "":
		return wrongf("say what to call: --call package.Service/Method, or --http GET for REST")
	case s.Proto != "" && s.Protoset != "":
		return wrongf("--proto and --protoset both say where the method is: give one of them")
	case len(s.ImportPaths) > 0 && s.Proto == "":
		return wrongf("--import-path is where the imports of --proto are, and there is no --proto")
	case strings.Contains(s.Target, "://"):
		return wrongf("%q is a URL: gRPC takes HOST:PORT, and --http GET a URL", s.Target)
	}
	host, port, err := net.SplitHostPort(s.Target)
	if err != nil || host == "" || port == "" {
		return wrongf("%q is no address: write HOST:PORT, such as 127.0.0.1:50051", s.Target)
	}
	return nil
}

func (s Settings) checkPace() error {
	open := s.Rate != 0 || s.Stages != ""
	switch {
	case s.Rate != 0 && s.Stages != "":
		return wrongf("--rate and --stages both say when calls are due: give one of them")
	case open && s.Concurrency != 0:
		return wrongf("--concurrency is of a closed loop, which has no --rate or --stages: give one of them (--max-in-flight bounds an open loop)")
	case open && s.Think != 0:
		return wrongf("--think is what users of a closed loop (--concurrency) do between calls")
	case !open && s.Poisson:
		return wrongf("--arrivals is of an open loop: give --rate or --stages")
	case s.Stages != "" && s.Duration != 0:
		return wrongf("--stages say how long they take; leave out --duration")
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
		{"--max-in-flight", s.MaxInFlight > 0 && s.MaxInFlight <= MaxUsers, fmt.Sprintf("has to be 1 to %d", MaxUsers)},
		{"--cores", s.Cores >= 0 && s.Cores <= runtime.NumCPU(), fmt.Sprintf("has to be 1 to %d, the processors of this machine", runtime.NumCPU())},
		{"--warmup", s.Warmup >= 0, "has to be a number of calls, or 0"},
		{"--think", s.Think >= 0, "has to be a time such as 100ms"},
		{"--duration", s.Duration >= 0, "has to be a time such as 10s"},
		{"--timeout", s.Timeout > 0, "has to be a time such as 20s"},
	} {
		if !n.fits {
			return wrongf("%s %s", n.flag, n.rule)
		}
	}
	return nil
}

// The bounds of what can be asked for: more is a slip of the hand.
const (
	MaxRate  = 10_000_000
	MaxUsers = 1_000_000
)
