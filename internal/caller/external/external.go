// Package external runs callers written in other languages. A child process makes the calls and
// writes each outcome to its standard output (servers/CONTRACT.md, "A caller's job").
package external

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/language"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process"
	"rpclab/internal/process/stdio"
	"rpclab/internal/workload"
)

// Caller is one client library of a language.
type Caller struct {
	Language string // python
	Kind     string // grpc-sync
	REST     bool   // makes HTTP requests
}

// job is the first line of JSON that the program reads.
type job struct {
	Kind          string        `json:"kind"`
	Target        string        `json:"target"`
	ServiceConfig string        `json:"service_config,omitempty"`
	Method        string        `json:"method"`
	Path          string        `json:"path"`
	Workload      workloadSpec  `json:"workload"`
	Channel       string        `json:"channel"`
	Timeout       time.Duration `json:"timeout_ns"`
	Stream        string        `json:"stream,omitempty"`
	Compress      bool          `json:"compress,omitempty"`
}

// workloadSpec is what the program has to know of the workload.
type workloadSpec struct {
	Greet     *struct{}           `json:"greet,omitempty"`
	Fibonacci *workload.Fibonacci `json:"fibonacci,omitempty"`
	Increase  *struct{}           `json:"increase,omitempty"`
	Orders    *ordersSpec         `json:"orders,omitempty"`
}

type ordersSpec struct {
	Articles int `json:"articles"`
}

func workloadSpecOf(w workload.Spec) (a workloadSpec, err error) {
	switch {
	case w.Greet != nil:
		a.Greet = &struct{}{}
	case w.Increase != nil:
		a.Increase = &struct{}{}
	case w.Orders != nil:
		a.Orders = &ordersSpec{w.Orders.Articles}
	case w.Fibonacci != nil:
		a.Fibonacci = w.Fibonacci
	default:
		err = errors.New("callers in other languages do not support this workload: use greet, fibonacci, increase or orders")
	}
	return a, err
}

// Open starts the program and returns when it has accepted the job.
func (c Caller) Open(j caller.Job, target caller.Target) (caller.Session, error) {
	calls, err := j.Workload.Unary()
	if err != nil {
		return nil, err
	}
	switch {
	case target.Dial != nil || target.PortableURI == "":
		return nil, fmt.Errorf("only Go clients support this route to %s: with a caller in %s use direct, forwarder, or a proxy", target.URI, c.Language)
	case j.Channels.Mode == caller.Pool:
		return nil, fmt.Errorf("callers in %s do not support a pool of channels: use shared or per-call", c.Language)
	case j.Hedge != nil:
		return nil, fmt.Errorf("callers in %s do not support hedging", c.Language)
	}
	which, err := language.Lookup(c.Language)
	if err != nil {
		return nil, err
	}
	command, err := which.Command(nil)
	if err != nil {
		return nil, err
	}
	work, err := workloadSpecOf(j.Workload)
	if err != nil {
		return nil, err
	}
	s := &session{late: j.Late, name: c.Language + "-" + c.Kind}
	reports, written := io.Pipe()
	s.program, err = process.Start(process.Spec{Args: append(command, "caller"), Env: target.Env, Stdout: written})
	if err != nil {
		return nil, err
	}
	go func() {
		<-s.program.Done()
		_ = written.Close() // always returns nil
	}()
	s.frames = bufio.NewReader(reports)
	s.requests = json.NewEncoder(s.program.Stdin)
	stream, method := "", calls.Method
	if j.Stream != nil {
		stream, method = "ping-pong", calls.Stream
		if j.Stream.Pipelined {
			stream = "pipelined"
		}
		s.pingPong = !j.Stream.Pipelined
	}
	address := target.PortableURI
	if c.REST {
		address = "http://" + address
	}
	err = s.requests.Encode(job{
		Kind: c.Kind, Target: address, ServiceConfig: target.ServiceConfig, Method: method, Path: calls.Path,
		Workload: work, Channel: j.Channels.Mode, Timeout: j.Timeout, Stream: stream, Compress: j.Compress,
	})
	if err == nil {
		err = s.awaitReady()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// session is a running program.
type session struct {
	name     string
	late     time.Duration
	program  *process.Process
	requests *json.Encoder
	frames   *bufio.Reader
	pingPong bool
	backends []string         // indexed by number
	samples  map[uint8]string // first message of each code in this load
}

func (s *session) awaitReady() error {
	kind, text, err := s.readFrame()
	switch {
	case err != nil:
		return err
	case kind == frameReady:
		return nil
	}
	return fmt.Errorf("%s sent frame %q before it was ready: %q", s.name, kind, text)
}

// Run sends a load to the program and records each call that the program reports.
func (s *session) Run(ctx context.Context, p pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	start := signal.Start()
	order, err := s.loadRequest(p, start)
	if err != nil {
		return nil, start, fmt.Errorf("%s: %w", s.name, err)
	}
	if err := s.requests.Encode(order); err != nil {
		return nil, start, stdio.Exited(s.name, s.program, err)
	}
	// Cancelling calls in flight means ending the program.
	defer context.AfterFunc(ctx, s.program.Kill)()
	shards := measure.NewShards(1, s.late)
	defer signal.Watch(start, shards.AddTo)()
	s.samples = map[uint8]string{}
	for {
		kind, text, err := s.readFrame()
		if ctx.Err() != nil {
			return shards.Merged(), start, nil
		}
		if err != nil {
			return nil, start, err
		}
		switch kind {
		case frameCalls:
			err = s.recordCalls(shards, text, start)
		case frameBackend:
			s.backends = append(s.backends, string(text))
		case frameSample:
			err = s.keepSample(text)
		case frameEnd:
			var end struct {
				CPU time.Duration `json:"cpu_ns"`
			}
			if err = json.Unmarshal(text, &end); err == nil {
				all := shards.Merged()
				all.AddCPU(end.CPU)
				return all, start, nil
			}
		default:
			err = fmt.Errorf("unknown frame type %q", kind)
		}
		if err != nil {
			return nil, start, fmt.Errorf("%s violates the caller contract: %w", s.name, err)
		}
	}
}

// Pid is the process that makes the calls; its memory is the caller's.
func (s *session) Pid() int { return s.program.Pid() }

// Close ends the program.
func (s *session) Close() error {
	err := s.program.Stdin.Close()
	s.program.Kill()
	return err
}
