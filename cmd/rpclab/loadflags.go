package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	generator "rpclab/internal/load"
	"rpclab/internal/nearest"
	"rpclab/internal/result/assert"
)

const (
	selfTestBytes = 16
	selfTestEach  = time.Second
)

// loadFlags are what `rpclab load` can be told.
type loadFlags struct {
	generator.Settings
	arrivals string
	asserts  []string
	outputs  outputs
	keeping  keeping
	selfTest bool
	study    calculateFlags
}

func (f *loadFlags) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&f.Call, "call", "", "`method` to call: package.Service/Method")
	flags.StringVar(&f.HTTP, "http", "", "make REST calls instead, by `METHOD` (GET, POST, ...); the target is then a URL")
	flags.BoolVar(&f.HTTP2, "http2", false, "with --http: over HTTP/2 (TLS agrees on it; clear text has to know)")
	flags.StringVar(&f.Proto, "proto", "", "`file` that describes the method (default: ask the server)")
	flags.StringArrayVar(&f.ImportPaths, "import-path", nil, "`directory` of --proto and its imports, as often as needed")
	flags.StringVar(&f.Protoset, "protoset", "", "`file` with a compiled descriptor set that has the method")
	flags.StringVarP(&f.Data, "data", "d", "", "message in `JSON`, @FILE with one or many, or @- for standard input")
	flags.BoolVar(&f.Binary, "binary", false, "the data is one message, to be sent as it is")
	flags.StringArrayVarP(&f.Metadata, "metadata", "H", nil, "header of every call, `key: value`, as often as needed")

	flags.Float64Var(&f.Rate, "rate", 0, "calls due every second (open loop)")
	flags.StringVar(&f.Stages, "stages", "", "rates to ramp to in turn, `TIME:RATE,...` from 0 (open loop)")
	flags.StringVar(&f.arrivals, "arrivals", "constant", "gaps between calls of an open loop: constant or poisson")
	flags.IntVar(&f.MaxInFlight, "max-in-flight", 10_000, "calls due over it are dropped, and counted (open loop)")
	flags.IntVarP(&f.Concurrency, "concurrency", "c", 0, fmt.Sprintf("users with one call at a time (closed loop; default %d)", generator.DefaultUsers))
	flags.DurationVar(&f.Think, "think", 0, "what a user waits between answer and next call")
	flags.DurationVar(&f.Duration, "duration", 0, fmt.Sprintf("until when calls are due (default %s, unless --calls)", generator.ByDefault))
	flags.Uint64VarP(&f.Calls, "calls", "n", 0, "end after so many")
	flags.IntVar(&f.Warmup, "warmup", 0, "calls made before, which nobody counts")
	flags.DurationVar(&f.Timeout, "timeout", 20*time.Second, "deadline of a call, from when it is sent")
	flags.Var(connections{&f.Settings}, "connections", "`N` taken in turn (default 1; HTTP/1.1: as many as needed), or per-call: one for each call")
	connectFlags(flags, &f.Connecting)
	flags.IntVar(&f.Messages, "messages", 0, "sent in each call of a client or two-way stream (default 1)")
	flags.BoolVar(&f.PingPong, "ping-pong", false, "of a two-way stream: each message waits for the answer to the one before")
	flags.StringVar(&f.Engine, "engine", generator.Wire, "what makes gRPC calls: wire (our own) or grpc-go")
	flags.IntVar(&f.Cores, "cores", 0, "threads of the engine wire, at most one a connection (default 1)")
	flags.Uint64Var(&f.Seed, "seed", 0, "of random arrivals (default: drawn, and kept in the result)")

	flags.BoolVar(&f.TLS.On, "tls", false, "encrypt; so does any of the next five")
	flags.StringVar(&f.TLS.CACert, "cacert", "", "`file` of the certificates to trust (default: the system's)")
	flags.StringVar(&f.TLS.Cert, "cert", "", "`file` of the client's certificate")
	flags.StringVar(&f.TLS.Key, "key", "", "`file` of its key")
	flags.StringVar(&f.TLS.ServerName, "servername", "", "`name` that the server's certificate has to have")
	flags.BoolVar(&f.TLS.Insecure, "insecure-skip-verify", false, "do not check the server's certificate")

	f.study.register(flags)

	flags.StringArrayVar(&f.asserts, "assert", nil, "`condition` that has to hold, as often as needed")
	flags.StringVar(&f.outputs.json, "json", "", "write the result to `file`; - is standard output, with nothing else on it")
	f.outputs.registerJUnit(flags)
	f.keeping.register(flags)
	flags.BoolVar(&f.selfTest, "self-test", false, "measure the generator itself, without a target")
}

// finish reads the flags that are more than a value.
func (f *loadFlags) finish(flags *pflag.FlagSet) (all []assert.Assertion, err error) {
	for _, name := range []string{"rate", "concurrency", "connections", "cores", "duration", "calls", "messages",
		"streams", "connect-rate", "keepalive", "idle-close"} {
		if flag := flags.Lookup(name); flag.Changed && (flag.Value.String() == "0" || flag.Value.String() == "0s") {
			return nil, fmt.Errorf("--%s 0: has to be more than 0, or left out", name)
		}
	}
	switch f.arrivals {
	case "constant", "poisson":
		f.Poisson = f.arrivals == "poisson"
	default:
		return nil, fmt.Errorf("--arrivals %s: no such arrivals%s", f.arrivals,
			nearest.Suggest(f.arrivals, []string{"constant", "poisson"}))
	}
	if !flags.Changed("seed") {
		f.Seed = rand.Uint64N(1 << 32)
	}
	if all, err = parseAssertions(f.asserts); err != nil {
		return nil, err
	}
	return all, f.outputs.check()
}

// connections is the flag that takes a number or per-call.
type connections struct{ *generator.Settings }

const perCall = "per-call"

func (c connections) Type() string { return "string" }

func (c connections) String() string {
	switch {
	case c.Settings == nil: // pflag asks what a zero value says
		return "0"
	case c.PerCall:
		return perCall
	}
	return strconv.Itoa(c.Connections)
}

func (c connections) Set(text string) (err error) {
	c.Connections = 0
	if c.PerCall = text == perCall; c.PerCall {
		return nil
	}
	if c.Connections, err = strconv.Atoi(text); err != nil {
		return fmt.Errorf("write a number from 1 to %d, or %s", generator.MaxUsers, perCall)
	}
	return nil
}

// target takes one argument, and none for a self-test.
func (f *loadFlags) target(c *cobra.Command, args []string) error {
	switch {
	case f.selfTest && len(args) > 0:
		return usage{fmt.Errorf("--self-test has no target, but got %q", args[0])}
	case !f.selfTest && len(args) != 1:
		return usage{fmt.Errorf("%s takes one target, HOST:PORT or with --http a URL, but got %d\nSee '%s --help'",
			c.CommandPath(), len(args), c.CommandPath())}
	}
	return nil
}
