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
	"rpclab/internal/workload"
)

// Caller is one client library of a language.
type Caller struct {
	Language string // python
	Kind     string // grpc-sync
	REST     bool   // makes HTTP requests
}

// jobLine is the first line of JSON that the program reads.
type jobLine struct {
	Kind          string            `json:"kind"`
	Target        string            `json:"target"`
	ServiceConfig string            `json:"service_config,omitempty"`
	Method        string            `json:"method"`
	Path          string            `json:"path"`
	Workload      workloadSpec      `json:"workload"`
	Channel       string            `json:"channel"`
	Timeout       time.Duration     `json:"timeout_ns"`
	Stream        string            `json:"stream,omitempty"`
	Compress      bool              `json:"compress,omitempty"`
	Keepalive     *caller.Keepalive `json:"keepalive,omitempty"`
}

// workloadSpec is the workload in the form of the contract.
type workloadSpec struct {
	Greet     *struct{}           `json:"greet,omitempty"`
	Fibonacci *workload.Fibonacci `json:"fibonacci,omitempty"`
	Increase  *struct{}           `json:"increase,omitempty"`
	Orders    *ordersSpec         `json:"orders,omitempty"`
}

type ordersSpec struct {
	Articles int `json:"articles"`
}

func workloadSpecOf(spec workload.Spec) (converted workloadSpec, err error) {
	switch {
	case spec.Greet != nil:
		converted.Greet = &struct{}{}
	case spec.Increase != nil:
		converted.Increase = &struct{}{}
	case spec.Orders != nil:
		converted.Orders = &ordersSpec{spec.Orders.Articles}
	case spec.Fibonacci != nil:
		converted.Fibonacci = spec.Fibonacci
	default:
		err = errors.New("callers in other languages do not support this workload: use greet, fibonacci, increase or orders")
	}
	return converted, err
}

// Open starts the program and returns when it has accepted the job.
func (c Caller) Open(job caller.Job, target caller.Target) (caller.Session, error) {
	calls, err := job.Workload.Unary()
	if err != nil {
		return nil, err
	}
	switch {
	case target.Dial != nil || target.PortableURI == "":
		return nil, fmt.Errorf("only Go clients support this route to %s: with a caller in %s use direct, headless, forwarder, or a proxy", target.URI, c.Language)
	case job.Channels.Mode == caller.Pool:
		return nil, fmt.Errorf("callers in %s do not support a pool of channels: use shared or per-call", c.Language)
	case job.Hedge != nil:
		return nil, fmt.Errorf("callers in %s do not support hedging: leave out hedge, or use the caller grpc-go", c.Language)
	}
	found, err := language.Lookup(c.Language)
	if err != nil {
		return nil, err
	}
	command, err := found.Command(nil)
	if err != nil {
		return nil, err
	}
	spec, err := workloadSpecOf(job.Workload)
	if err != nil {
		return nil, err
	}
	opened := &session{late: job.Late, name: c.Language + "-" + c.Kind}
	stdout, written := io.Pipe()
	opened.program, err = process.Start(process.Spec{Args: append(command, "caller"), Env: target.Env, Stdout: written})
	if err != nil {
		return nil, err
	}
	go func() {
		<-opened.program.Done()
		_ = written.Close() // always returns nil
	}()
	opened.stdout, opened.frames = stdout, bufio.NewReader(stdout)
	opened.requests = json.NewEncoder(opened.program.Stdin)
	stream, method := "", calls.Method
	if job.Stream != nil {
		stream, method = "ping-pong", calls.Stream
		opened.pingPong = max(job.Stream.Users, 1)
		if job.Stream.Pipelined {
			stream, opened.pingPong = "pipelined", 0
		}
	}
	address := target.PortableURI
	if c.REST {
		address = "http://" + address
	}
	err = opened.requests.Encode(jobLine{
		Kind: c.Kind, Target: address, ServiceConfig: target.ServiceConfig, Method: method, Path: calls.Path,
		Workload: spec, Channel: job.Channels.Mode, Timeout: job.Timeout, Stream: stream, Compress: job.Compress, Keepalive: job.Keepalive,
	})
	if err == nil {
		err = opened.awaitReady()
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
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
func (s *session) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	start := signal.Start()
	request, err := s.loadRequest(plan, start)
	if err != nil {
		return nil, start, fmt.Errorf("%s: %w", s.name, err)
	}
	if err := s.requests.Encode(request); err != nil {
		return nil, start, s.exited(err)
	}
	// The program cannot cancel calls in flight, so an interrupt ends the program.
	defer context.AfterFunc(ctx, s.program.Kill)()
	shards := measure.NewShards(1, s.late)
	shards.CountWindow(plan.Window())
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

// Pid returns the id of the process that makes the calls. Its memory is the caller's.
func (s *session) Pid() int { return s.program.Pid() }

// Close ends the program.
func (s *session) Close() error {
	err := s.program.Stdin.Close()
	s.discardOutput()
	s.program.Kill()
	return err
}
