// Package wire is the caller that uses our own engine, rpclab/internal/wire, over
// grpc-go's resolvers, so that it takes every route that a gRPC client can take.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	engine "rpclab/internal/wire"
	"rpclab/internal/wire/h2"
	"rpclab/internal/workload"
)

// Caller opens engines.
type Caller struct{}

// Open starts an engine on one core. A job of many channels resolves the target once
// for all of them, and so does one with a channel per call: only connections are the
// call's own then.
func (Caller) Open(job caller.Job, target caller.Target) (caller.Session, error) {
	call, config, err := prepare(job)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(target.URI)
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", target.URI, err)
	}
	if address.Scheme == "xds" {
		return nil, fmt.Errorf("target %q: the caller wire knows addresses, and an xDS client's own policies only gRPC's libraries have: "+
			"set caller.kind to grpc-go", target.URI)
	}
	call.Authority = strings.TrimPrefix(address.Path, "/")
	if config.Spread, err = roundRobin(target.ServiceConfig); err != nil {
		return nil, err
	}
	follow := &follower{}
	s := &session{follow: follow}
	config.Dial, config.Timeout, config.Late, config.Lost = target.Dial, job.Timeout, job.Late, follow.ask
	if s.engine, err = engine.New(config, call); err != nil {
		return nil, err
	}
	if err := follow.begin(s.engine, address, target.Resolvers); err != nil {
		_ = s.engine.Close() // cannot fail
		return nil, err
	}
	return s, nil
}

// prepare is what an engine has to be told of a job.
func prepare(job caller.Job) (call engine.Call, config engine.Config, err error) {
	if config, err = channelsOf(job); err != nil {
		return call, config, err
	}
	if job.Calculations != nil {
		call, config.TLS, err = talkOf(job)
		return call, config, err
	}
	call, err = callOf(job.Workload, job.REST)
	return call, config, err
}

type session struct {
	engine *engine.Engine
	follow *follower
}

func (s *session) Run(ctx context.Context, p pace.Pace, cue measure.Cue) (*measure.Recorder, time.Time, error) {
	recorder, start, _, err := s.engine.Run(ctx, p, cue)
	return recorder, start, err
}

// Close ends the engine first, which then asks the resolver for nothing more.
func (s *session) Close() error {
	err := s.engine.Close()
	s.follow.close()
	return err
}

// mostShared is how many connections calls of a REST service share: as many as a Go client
// keeps that is told to keep all.
const mostShared = 10_000

// channelsOf says how calls share connections. Over HTTP/1.1 a shared channel is as many
// connections as there are calls at once, which are kept.
func channelsOf(job caller.Job) (c engine.Config, err error) {
	if job.Channels.Mode == caller.PerUser {
		c.PerUser = true
	} else if c.Channels, err = job.Channels.Count(); err != nil {
		return c, err
	}
	c.PerCall = c.Channels == 0 && !c.PerUser
	if job.REST && job.Channels.Mode != caller.Pool {
		c.Channels, c.OnDemand = mostShared, true
	}
	return c, nil
}

// callOf is the workload's call. Where all are the same and are answered alike, an answer with
// the same bytes from the same backend as one that was right is right.
func callOf(w workload.Spec, rest bool) (engine.Call, error) {
	calls, err := w.Unary()
	if err != nil {
		return engine.Call{}, err
	}
	call := engine.Call{Method: calls.Method, Backend: workload.Trailer}
	form := protobuf
	if rest {
		if calls.Path == "" {
			return call, errors.New("the workload is served by gRPC alone: take greet, fibonacci, increase or orders")
		}
		form = inJSON
		call.HTTP = &engine.HTTP{Method: http.MethodPost, Path: calls.Path, Version: 1, Refused: caller.Refused}
		call.Metadata = []h2.Field{{Name: "content-type", Value: "application/json"}}
	}
	if calls.Same {
		call.Message, err = form.append(nil, calls.Request(0))
	} else {
		call.Make = func(n uint64, _ int, dst []byte) ([]byte, error) { return form.append(dst, calls.Request(n)) }
	}
	right := map[string]string{} // by backend; of the one core's thread
	call.Check = func(n uint64, answer []byte, backend string) error {
		if seen, ok := right[backend]; ok && calls.Constant && seen == string(answer) {
			return nil
		}
		reply := calls.Reply()
		if err := form.read(answer, reply); err != nil {
			return fmt.Errorf("the answer is no %T: %w", reply, err)
		}
		if err := calls.Check(n, reply, backend); err != nil {
			return err
		}
		if calls.Constant {
			right[backend] = string(answer)
		}
		return nil
	}
	return call, err
}

// roundRobin says whether a gRPC service config asks for that policy. The first
// policy that is known counts, and none stands for pick_first.
func roundRobin(config string) (bool, error) {
	if config == "" {
		return false, nil
	}
	var service struct {
		LoadBalancingConfig []map[string]json.RawMessage `json:"loadBalancingConfig"`
	}
	if err := json.Unmarshal([]byte(config), &service); err != nil {
		return false, fmt.Errorf("service config: %w", err)
	}
	for _, policy := range service.LoadBalancingConfig {
		for name := range policy {
			switch name {
			case "round_robin":
				return true, nil
			case "pick_first":
				return false, nil
			}
		}
	}
	return false, nil
}
