// Command wirebench makes calls with rpclab's engine alone, for comparison with other load
// generators. It prints one JSON object.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire"
	"rpclab/internal/workload"
)

// summary is the JSON object that bench/peers reads.
type summary struct {
	Calls  uint64            `json:"calls"`
	Errors map[string]uint64 `json:"errors"`
	P90    float64           `json:"p90_ms"`
	P99    float64           `json:"p99_ms"`
}

func main() {
	log.SetFlags(0)
	var cfg wire.Config
	users := flag.Int("users", 50, "calls in flight")
	calls := flag.Uint64("calls", 0, "calls to make")
	rate := flag.Float64("rate", 0, "calls per second, instead of users and calls")
	duration := flag.Duration("duration", 10*time.Second, "how long, with -rate")
	flag.IntVar(&cfg.Channels, "connections", 1, "connections")
	plain := flag.Bool("http", false, "GET / over HTTP/1.1, one call at a time on each connection, instead of gRPC calls of the greeter")
	flag.BoolVar(&cfg.Yield, "yield", false, "let other programs use the processor first")
	flag.Parse()
	cfg.Sticky = true // as h2load's clients
	cfg.Addresses, cfg.Timeout = flag.Args(), 20*time.Second
	var p wire.Pace = pace.Closed{Users: *users, Calls: *calls}
	if *rate > 0 {
		p = pace.Rate{PerSecond: *rate, Duration: *duration, Max: 100_000}
	}
	call, err := greeting()
	if *plain {
		call = wire.Call{HTTP: &wire.HTTP{Method: "GET", Path: "/", Version: 1}, Check: checkPlain}
	}
	if err != nil {
		log.Fatalf("wirebench: %v", err)
	}
	got, err := run(cfg, call, p)
	if err != nil {
		log.Fatalf("wirebench: %v", err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		log.Fatal(err)
	}
}

// greeting is the gRPC call.
func greeting() (wire.Call, error) {
	request, err := proto.Marshal(&rpclabv1.HelloRequest{Name: "rpclab"})
	return wire.Call{
		Method: rpclabv1.Greeter_SayHello_FullMethodName, Message: request, Backend: workload.BackendTrailer, Check: check,
	}, err
}

func run(cfg wire.Config, call wire.Call, p wire.Pace) (summary, error) {
	engine, err := wire.New(cfg, call)
	if err != nil {
		return summary{}, err
	}
	defer func() { _ = engine.Close() }()
	if err := engine.Connect(context.Background()); err != nil {
		return summary{}, err
	}
	recorder, _, err := engine.Run(context.Background(), p, measure.StartSignal{})
	if err != nil {
		return summary{}, err
	}
	m, err := recorder.Measurement()
	if err != nil {
		return summary{}, err
	}
	latency, err := hdr.Decode([]byte(m.Latency))
	if err != nil {
		return summary{}, err
	}
	at := func(percent float64) float64 { return float64(latency.ValueAtQuantile(percent)) / 1e6 }
	return summary{Calls: m.Calls, Errors: m.Errors, P90: at(90), P99: at(99)}, nil
}

// checkPlain checks the whole body of an HTTP answer.
func checkPlain(_ uint64, answer []byte, _ string) error {
	if string(answer) != "Hello, rpclab" {
		return fmt.Errorf("the answer of %d bytes is not the greeting", len(answer))
	}
	return nil
}

// check checks the greeting at the start of a gRPC answer. It allocates nothing.
func check(_ uint64, answer []byte, _ string) error {
	const want = "\x0a\x0dHello, rpclab"
	if len(answer) < len(want) || string(answer[:len(want)]) != want {
		return fmt.Errorf("the answer of %d bytes is not the greeting", len(answer))
	}
	return nil
}
