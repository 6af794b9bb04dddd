// Package foreign is the callers that are written in other languages: a program makes the
// calls and writes what became of each to a pipe, and what it writes is recorded as that of
// every other caller (servers/CONTRACT.md, "A caller's job").
package foreign

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

// Caller is one library of a language.
type Caller struct {
	Language string // python
	Kind     string // grpc-sync
	REST     bool   // it calls URLs
}

// job is what the program is asked to do, a line of JSON.
type job struct {
	Kind          string        `json:"kind"`
	Target        string        `json:"target"`
	ServiceConfig string        `json:"service_config,omitempty"`
	Method        string        `json:"method"`
	Path          string        `json:"path"`
	Workload      asked         `json:"workload"`
	Channel       string        `json:"channel"`
	Timeout       time.Duration `json:"timeout_ns"`
	Stream        string        `json:"stream,omitempty"`
	Compress      bool          `json:"compress,omitempty"`
}

// asked is the workload as far as a caller has to know it.
type asked struct {
	Greet     *struct{}           `json:"greet,omitempty"`
	Fibonacci *workload.Fibonacci `json:"fibonacci,omitempty"`
	Increase  *struct{}           `json:"increase,omitempty"`
	Orders    *articles           `json:"orders,omitempty"`
}

type articles struct {
	Articles int `json:"articles"`
}

func askedOf(w workload.Spec) (a asked, err error) {
	switch {
	case w.Greet != nil:
		a.Greet = &struct{}{}
	case w.Increase != nil:
		a.Increase = &struct{}{}
	case w.Orders != nil:
		a.Orders = &articles{w.Orders.Articles}
	case w.Fibonacci != nil:
		a.Fibonacci = w.Fibonacci
	default:
		err = errors.New("callers in other languages make no calls of this workload: take greet, fibonacci, increase or orders")
	}
	return a, err
}

// Open starts the program and returns when it has understood the job.
func (c Caller) Open(j caller.Job, target caller.Target) (caller.Session, error) {
	calls, err := j.Workload.Unary()
	if err != nil {
		return nil, err
	}
	switch {
	case target.Dial != nil || target.Foreign == "":
		return nil, fmt.Errorf("only clients in Go take this route to %s: a caller in %s takes direct, forwarder, or a proxy", target.URI, c.Language)
	case j.Channels.Mode == caller.Pool:
		return nil, fmt.Errorf("callers in %s have no pool of channels: take shared, or per-call", c.Language)
	case j.Hedge != nil:
		return nil, fmt.Errorf("callers in %s do not hedge", c.Language)
	}
	which, err := language.Lookup(c.Language)
	if err != nil {
		return nil, err
	}
	command, err := which.Command(nil)
	if err != nil {
		return nil, err
	}
	work, err := askedOf(j.Workload)
	if err != nil {
		return nil, err
	}
	s := &session{late: j.Late, who: c.Language + "-" + c.Kind}
	reports, written := io.Pipe()
	s.program, err = process.Start(process.Spec{Args: append(command, "caller"), Env: target.Env, Stdout: written})
	if err != nil {
		return nil, err
	}
	go func() {
		<-s.program.Done()
		_ = written.Close() // which always returns nil
	}()
	s.reports = bufio.NewReader(reports)
	s.orders = json.NewEncoder(s.program.Stdin)
	stream, method := "", calls.Method
	if j.Stream != nil {
		stream, method = "ping-pong", calls.Stream
		if j.Stream.Pipelined {
			stream = "pipelined"
		}
		s.pingPong = !j.Stream.Pipelined
	}
	address := target.Foreign
	if c.REST {
		address = "http://" + address
	}
	err = s.orders.Encode(job{
		Kind: c.Kind, Target: address, ServiceConfig: target.ServiceConfig, Method: method, Path: calls.Path,
		Workload: work, Channel: j.Channels.Mode, Timeout: j.Timeout, Stream: stream, Compress: j.Compress,
	})
	if err == nil {
		err = s.ready()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// session is a program that runs.
type session struct {
	who      string
	late     time.Duration
	program  *process.Process
	orders   *json.Encoder
	reports  *bufio.Reader
	pingPong bool
	backends []string         // by number
	samples  map[uint8]string // first messages by code, of the load
}

func (s *session) ready() error {
	kind, text, err := s.frame()
	switch {
	case err != nil:
		return err
	case kind == ready:
		return nil
	}
	return fmt.Errorf("%s wrote %q before it was ready: %q", s.who, kind, text)
}

// Run has the program make a load, and records what it writes of each call.
func (s *session) Run(ctx context.Context, p pace.Pace, cue measure.Cue) (*measure.Recorder, time.Time, error) {
	start := cue.Start()
	order, err := s.orderOf(p, start)
	if err != nil {
		return nil, start, fmt.Errorf("%s: %w", s.who, err)
	}
	if err := s.orders.Encode(order); err != nil {
		return nil, start, s.died(err)
	}
	// Calls that are under way when ctx ends are given up with the program.
	defer context.AfterFunc(ctx, s.program.Kill)()
	shards := measure.NewShards(1, s.late)
	defer cue.Watch(start, shards.Count)()
	s.samples = map[uint8]string{}
	for {
		kind, text, err := s.frame()
		if ctx.Err() != nil {
			return shards.Merged(), start, nil
		}
		if err != nil {
			return nil, start, err
		}
		switch kind {
		case calls:
			err = s.record(shards, text, start)
		case backend:
			s.backends = append(s.backends, string(text))
		case sample:
			err = s.remember(text)
		case ended:
			var end struct {
				CPU time.Duration `json:"cpu_ns"`
			}
			if err = json.Unmarshal(text, &end); err == nil {
				all := shards.Merged()
				all.Spend(end.CPU)
				return all, start, nil
			}
		default:
			err = fmt.Errorf("a frame of the type %q", kind)
		}
		if err != nil {
			return nil, start, fmt.Errorf("%s does not keep to the contract: %w", s.who, err)
		}
	}
}

// Pid is the process that makes the calls, whose memory is the caller's.
func (s *session) Pid() int { return s.program.Pid() }

// Close ends the program.
func (s *session) Close() error {
	err := s.program.Stdin.Close()
	s.program.Kill()
	return err
}

// died says how a program ended that should have gone on.
func (s *session) died(err error) error {
	s.program.Kill()
	return fmt.Errorf("%s ended: %w; its last lines:\n%s", s.who, errors.Join(s.program.Err(), err), s.program.Log())
}
