// Package wire is the caller that uses our own engine, rpclab/internal/wire, over
// grpc-go's resolvers, so that it takes every route that a gRPC client can take.
package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	engine "rpclab/internal/wire"
	"rpclab/internal/workload"
)

// Caller opens engines.
type Caller struct{}

// Open starts an engine on one core. A job of many channels resolves the target once
// for all of them, and so does one with a channel per call: only connections are the
// call's own then.
func (Caller) Open(job caller.Job, target caller.Target) (caller.Session, error) {
	call, err := callOf(job.Workload)
	if err != nil {
		return nil, err
	}
	channels, err := job.Channels.Count() // 0: one per call
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
	spread, err := roundRobin(target.ServiceConfig)
	if err != nil {
		return nil, err
	}
	follow := &follower{}
	s := &session{follow: follow}
	s.engine, err = engine.New(engine.Config{
		Dial: target.Dial, Spread: spread, Timeout: job.Timeout, Late: job.Late, Lost: follow.ask,
		Channels: channels, PerCall: channels == 0,
	}, call)
	if err != nil {
		return nil, err
	}
	if err := follow.begin(s.engine, address, target.Resolvers); err != nil {
		_ = s.engine.Close() // cannot fail
		return nil, err
	}
	return s, nil
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

// callOf is the workload's call. Where all are the same, an answer with the same bytes
// from the same backend as one that was right is right.
func callOf(w workload.Spec) (engine.Call, error) {
	calls, err := w.Unary()
	if err != nil {
		return engine.Call{}, err
	}
	call := engine.Call{Method: calls.Method, Backend: workload.Trailer}
	if calls.Constant {
		call.Message, err = proto.Marshal(calls.Request(0))
	} else {
		call.Make = func(n uint64, _ int, dst []byte) ([]byte, error) {
			return proto.MarshalOptions{}.MarshalAppend(dst, calls.Request(n))
		}
	}
	right := map[string]string{} // by backend; of the one core's thread
	call.Check = func(n uint64, answer []byte, backend string) error {
		if seen, ok := right[backend]; ok && calls.Constant && seen == string(answer) {
			return nil
		}
		reply := calls.Reply()
		if err := proto.Unmarshal(answer, reply); err != nil {
			return fmt.Errorf("the answer is no %T: %w", reply, err)
		}
		if err := calls.Check(n, reply, backend); err != nil {
			return err
		}
		right[backend] = string(answer)
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
