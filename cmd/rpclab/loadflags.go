package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/experiment"
	generator "rpclab/internal/load"
	"rpclab/internal/suggest"
)

const (
	selfTestBytes = 16
	selfTestEach  = time.Second
)

// loadFlags are the flags of `rpclab load`.
type loadFlags struct {
	generator.Settings
	search     searchFlags
	arrivals   string
	asserts    []string
	outputs    outputs
	live       pageFlags
	telemetry  telemetryFlags
	service    string // file
	mix        map[string]string
	flow       []string
	keeping    storeFlags
	machine    machineFlags
	progress   progressFlags
	selfTest   bool
	calculator calculateFlags
}

func (f *loadFlags) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&f.Call, "call", "", "`method` to call: package.Service/Method; with --service the name of a call")
	flags.StringVar(&f.service, "service", "", "`file` of a service to call in place of a target")
	flags.StringSliceVar(&f.flow, "flow", nil, "with --service: make several of its `calls` in this order, such as login,get")
	mixFlag(flags, &f.mix, "with --service: make several of its calls, each with its `share` of the load, such as get=80%,list=20%")
	flags.StringVar(&f.HTTP, "http", "", "make REST calls with `METHOD` (GET, POST, ...); the target is a URL")
	flags.BoolVar(&f.HTTP2, "http2", false, "with --http: use HTTP/2 (negotiated over TLS, assumed in cleartext)")
	flags.StringVar(&f.Proto, "proto", "", "`file` that describes the method (default: ask the server)")
	flags.StringArrayVar(&f.ImportPaths, "import-path", nil, "`directory` of --proto and its imports (repeatable)")
	flags.StringVar(&f.Protoset, "protoset", "", "`file` with a compiled descriptor set that describes the method")
	flags.StringVarP(&f.Data, "data", "d", "", "message as `JSON`, @FILE with one or more messages, or @- for standard input")
	flags.BoolVar(&f.Binary, "binary", false, "send the data unchanged, as one encoded message")
	flags.StringArrayVarP(&f.Metadata, "metadata", "H", nil, "header of every call, `key: value`; the value can be a template (repeatable)")
	flags.StringVar(&f.Compress, "compress", "", "`compression` of gRPC messages: gzip (default: none)")
	flags.StringVar(&f.UserAgent, "user-agent", "", "`text` before the client's own user-agent; in REST, instead of it")

	flags.StringVar(&f.Balance, "balance", generator.PickFirst, "`policy` for a target with several addresses: pick_first (the first that works) or round_robin (all in turn, which calls of --service do by default)")
	flags.StringVar(&f.Authority, "authority", "", "`name` in :authority of every call, or in the Host header of REST; with TLS also in the server certificate (default: --servername, or the target)")

	flags.Float64Var(&f.Rate, "rate", 0, "calls due per second (open loop)")
	flags.StringVar(&f.Stages, "stages", "", "ramp from 0 to each rate in turn, `TIME:RATE,...` (open loop)")
	flags.StringVar(&f.arrivals, "arrivals", "constant", "`distribution` of calls over time: constant or poisson (open loop)")
	flags.IntVar(&f.MaxInFlight, "max-in-flight", 10_000, "maximum number of calls in flight; further calls are counted as dropped (open loop)")
	f.search.register(flags)
	flags.IntVarP(&f.Concurrency, "concurrency", "c", 0, fmt.Sprintf("number of users, each with one call at a time (closed loop; default %d)", generator.DefaultUsers))
	flags.DurationVar(&f.Think, "think", 0, "pause of a user between a response and the next call (closed loop)")
	flags.DurationVar(&f.Duration, "duration", 0, fmt.Sprintf("time during which calls are due (default %s, unless --calls is set; --search: at each rate, default %s)", generator.DefaultDuration, searchDuration))
	flags.Uint64VarP(&f.Calls, "calls", "n", 0, "stop after this many calls")
	flags.IntVar(&f.Rounds, "rounds", 1, "how often to make the load; each round is one trial, for 'rpclab compare'")
	flags.IntVar(&f.Warmup, "warmup", 0, "calls made before the measurement, not counted")
	flags.DurationVar(&f.WarmupMax, "warmup-max", 0, "after --warmup, make the load without counting it until rate and p50 are steady for 6s (slow calls: for six calls), at most this long (default: do not)")
	flags.DurationVar(&f.Timeout, "timeout", experiment.OneLoadTimeout, "deadline of each call, counted from its start, with any wait for a stream or connection")
	flags.Var(connections{&f.Settings}, "connections", "`N` connections used in turn (default 1; HTTP/1.1: as many as needed), or per-call: one for each call")
	connectFlags(flags, &f.ConnectionOptions)
	flags.IntVar(&f.MaxMessage, "max-message", generator.DefaultMaxMessage, "largest message of a response (REST: largest body) in `BYTES`; a larger one is an error")
	flags.IntVar(&f.MaxHeaderList, "max-header-list", generator.DefaultMaxHeaderList, "largest header list of a response in `BYTES`; a larger one is an error")
	flags.BoolVar(&f.NoDecode, "no-decode", false, "accept responses that cannot be decoded (gRPC: as the method's type; REST: as JSON, if that is their content type)")
	flags.IntVar(&f.Messages, "messages", 0, "messages sent in each client-streaming or bidirectional call; 0 sends none (default 1)")
	flags.BoolVar(&f.PingPong, "ping-pong", false, "in a bidirectional stream, wait for each response before sending the next message")
	flags.IntVar(&f.StreamMessages, "stream-messages", 0, "end a stream as successful after this many responses (default: the server ends it)")
	flags.DurationVar(&f.StreamDuration, "stream-duration", 0, "end a stream as successful after this long, if it has a response (default: the server ends it)")
	flags.BoolVar(&f.StreamEmpty, "stream-empty", false, "a stream that --stream-duration ends may be without a response")
	flags.StringVar(&f.Engine, "engine", generator.Wire, "client of gRPC calls: wire (rpclab's own client) or grpc-go")
	flags.IntVar(&f.Cores, "cores", 0, "threads of the engine wire, at most one per connection (default 1)")
	flags.Uint64Var(&f.Seed, "seed", 0, "`seed` of random arrivals (default: random, and stored in the result)")

	tlsFlags(flags, &f.TLS)

	f.calculator.register(flags)

	flags.StringArrayVar(&f.asserts, "assert", nil, "`condition` that must hold (repeatable)")
	f.outputs.register(flags)
	f.outputs.registerFiles(flags)
	f.progress.register(flags)
	f.live.register(flags)
	f.telemetry.register(flags)
	f.keeping.register(flags)
	f.machine.register(flags)
	flags.BoolVar(&f.selfTest, "self-test", false, "measure the load generator itself, without a target")
}

// run returns the flags of the run of an experiment with one arm.
func (f loadFlags) run() runFlags {
	return runFlags{on: "local", service: f.service, keeping: f.keeping, machine: f.machine, asserts: f.asserts, outputs: f.outputs, progress: f.progress, live: f.live, telemetry: f.telemetry}
}

// finish validates the flags and completes the settings.
func (f *loadFlags) finish(flags *pflag.FlagSet) (err error) {
	for _, name := range []string{"rate", "concurrency", "connections", "cores", "duration", "calls", "rounds",
		"max-message", "max-header-list", "stream-messages", "stream-duration", "streams", "connect-rate", "keepalive", "idle-close"} {
		if flag := flags.Lookup(name); flag.Changed && (flag.Value.String() == "0" || flag.Value.String() == "0s") {
			return fmt.Errorf("--%s 0: use a value above 0, or leave the flag out", name)
		}
	}
	given := onCommandLine(flags)
	if given("listen") && !f.live.web {
		return errListenWithoutWeb
	}
	if given("max-in-flight") && f.Rate == 0 && f.Stages == "" && f.search.slo == "" {
		return errors.New("--max-in-flight limits an open loop: set --rate, --stages or --search, or leave it out (--concurrency limits a closed loop)")
	}
	f.NoMessages = flags.Changed("messages") && f.Messages == 0
	switch f.arrivals {
	case "constant", "poisson":
		f.Poisson = f.arrivals == "poisson"
	default:
		return fmt.Errorf("--arrivals: no distribution %q%s", f.arrivals,
			suggest.DidYouMean(f.arrivals, []string{"constant", "poisson"}))
	}
	if !flags.Changed("seed") {
		f.Seed = rand.Uint64N(1 << 32)
	}
	if f.Search, err = f.search.of(f.Settings, f.arrivals, given); err != nil {
		return err
	}
	_, err = parseAssertions(f.asserts, false)
	return errors.Join(err, f.outputs.check(), f.live.check(), f.telemetry.check()) // before a server is called
}

// flagOtherThan returns a flag of the command line that is not among the allowed ones; empty: there is none.
func flagOtherThan(flags *pflag.FlagSet, allowed []string) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if name == "" && !isDefault(f) && !slices.Contains(allowed, f.Name) {
			name = f.Name
		}
	})
	return name
}

// checkEngine rejects unknown engines.
func checkEngine(engine string) error {
	if engines := []string{generator.Wire, generator.GRPCGo}; !slices.Contains(engines, engine) {
		return fmt.Errorf("--engine %s: unknown engine%s", engine, suggest.DidYouMean(engine, engines))
	}
	return nil
}

// connections is the flag that takes a number or per-call.
type connections struct{ *generator.Settings }

const perCall = "per-call"

func (c connections) Type() string { return "string" }

func (c connections) String() string {
	switch {
	case c.Settings == nil: // pflag calls String on the zero value
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
		return fmt.Errorf("use a number from 1 to %d, or %s", generator.MaxUsers, perCall)
	}
	return nil
}

// target accepts one argument, and none for a self-test.
func (f *loadFlags) target(c *cobra.Command, args []string) error {
	given := onCommandLine(c.Flags())
	switch {
	case f.selfTest && len(args) > 0:
		return usageError{fmt.Errorf("--self-test accepts no target, but got %q", args[0])}
	case f.service != "" && len(args) > 0:
		return usageError{fmt.Errorf("--service %s says where the service is, but got the target %q: leave out one of them", f.service, args[0])}
	case f.calculator.host != "" && len(args) > 0:
		return usageError{fmt.Errorf("--host %s is the target, but got the target %q too: leave out one of them", f.calculator.host, args[0])}
	case f.service != "", f.calculator.host != "":
	case given("mix") || given("flow"):
		return usageError{errors.New("--mix and --flow name calls of a service file: add --service FILE")}
	case !f.selfTest && len(args) != 1:
		return usageError{fmt.Errorf("%s needs one target (HOST:PORT, or a URL with --http), but got %d\nSee '%s --help'",
			c.CommandPath(), len(args), c.CommandPath())}
	}
	return nil
}

// connectFlags control how connections are opened and closed.
func connectFlags(flags *pflag.FlagSet, c *generator.ConnectionOptions) {
	flags.IntVar(&c.Streams, "streams", 0, "maximum number of calls in flight per connection; further calls wait, which counts as lateness")
	flags.Float64Var(&c.ConnectRate, "connect-rate", 0, "connections opened per second (default: no limit)")
	flags.StringArrayVar(&c.Sources, "source", nil, "`ADDRESS|PREFIX` of this machine to connect from; several are used in turn (repeatable)")
	flags.DurationVar(&c.KeepAlive, "keepalive", 0, "send a PING after this long without data, and close the connection 20s later if no response arrives")
	flags.DurationVar(&c.IdleClose, "idle-close", 0, "close a connection after this long without a call; the next call opens it again")
}

// tlsFlags say how connections are encrypted.
func tlsFlags(flags *pflag.FlagSet, t *generator.TLS) {
	flags.BoolVar(&t.On, "tls", false, "use TLS; implied by every other flag about TLS")
	flags.StringVar(&t.CACert, "cacert", "", "`file` with trusted certificates (default: the system's)")
	flags.StringVar(&t.Cert, "cert", "", "`file` with the client certificate")
	flags.StringVar(&t.Key, "key", "", "`file` with the key of the client certificate")
	flags.StringVar(&t.ServerName, "servername", "", "`name` that the server certificate must contain; also sets --authority")
	flags.BoolVar(&t.Insecure, "insecure-skip-verify", false, "do not verify the server certificate")
}
