// Package wire is the caller that uses rpclab's own client engine (rpclab/internal/wire) with
// grpc-go's resolvers, so that it supports the same routes as a gRPC client.
package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	engine "rpclab/internal/wire"
	"rpclab/internal/wire/h2"
	"rpclab/internal/workload"
)

// Caller opens engines.
type Caller struct{}

// Open starts an engine on one core. All channels share one resolver. With a channel per call, each
// call has its own connection only.
func (Caller) Open(job caller.Job, target caller.Target) (caller.Session, error) {
	call, config, startLoad, err := prepare(job, target)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(target.URI)
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", target.URI, err)
	}
	if address.Scheme == "xds" {
		return nil, fmt.Errorf("target %q: the caller wire does not support xDS, which needs a full gRPC client: "+
			"set caller.kind to grpc-go", target.URI)
	}
	call.Authority = cmp.Or(call.Authority, strings.TrimPrefix(address.Path, "/"))
	if config.RoundRobin, config.Shuffle, err = policy(target.ServiceConfig); err != nil {
		return nil, err
	}
	conn := &resolverConn{}
	opened := &session{resolver: conn, startLoad: startLoad}
	config.Dial, config.Timeout, config.LateAfter, config.OnConnectionLost = target.Dial, job.Timeout, job.Late, conn.resolveNow
	if opened.engine, err = engine.New(config, call); err != nil {
		return nil, err
	}
	if err := conn.start(opened.engine, address, target.Resolvers); err != nil {
		_ = opened.engine.Close() // cannot fail
		return nil, err
	}
	return opened, nil
}

// prepare translates a job into the engine's call and configuration.
func prepare(job caller.Job, target caller.Target) (call engine.Call, config engine.Config, startLoad func(continues bool), err error) {
	if config, err = channelsOf(job); err != nil {
		return call, config, nil, err
	}
	if len(job.Calls) > 0 {
		config.AddressIsBackend = job.Calls[0].Identity.IsAddress()
		if config.TLS, err = job.Calls[0].TLSConfig(); err != nil {
			return call, config, nil, err
		}
		call, startLoad, err = serviceCalls(job, target)
		return call, config, startLoad, err
	}
	if job.Calculator != nil {
		call, config.TLS, err = calculatorCall(job)
		return call, config, nil, err
	}
	call, err = callOf(job.Workload, job.REST)
	return call, config, nil, err
}

type session struct {
	engine    *engine.Engine
	resolver  *resolverConn
	startLoad func(continues bool) // called before each load; nil: nothing
}

func (s *session) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	if s.startLoad != nil {
		s.startLoad(signal.Continues)
	}
	return s.engine.Run(ctx, plan, signal)
}

// Close closes the engine before the resolver that it may call.
func (s *session) Close() error {
	err := s.engine.Close()
	s.resolver.close()
	return err
}

// maxSharedConnections bounds the connections that calls of a REST service share, as
// MaxIdleConnsPerHost does in the caller http.
const maxSharedConnections = 10_000

// channelsOf returns how calls share connections. Over HTTP/1.1 a shared channel keeps as many
// connections as there are calls in flight.
func channelsOf(job caller.Job) (config engine.Config, err error) {
	if job.Channels.Mode == caller.PerUser {
		config.ChannelPerUser = true
	} else if config.Channels, err = job.Channels.Count(); err != nil {
		return config, err
	}
	config.ConnectionPerCall = config.Channels == 0 && !config.ChannelPerUser
	rest := job.REST || len(job.Calls) > 0 && job.Calls[0].HTTP != ""
	if rest && job.Channels.Mode != caller.Pool {
		config.Channels, config.OnDemand = maxSharedConnections, true
	}
	return config, nil
}

// callOf returns the engine's call of a workload. Where all calls have the same request and
// reply, a response whose bytes match a checked response of the same backend needs no decoding.
func callOf(w workload.Spec, rest bool) (engine.Call, error) {
	calls, err := w.Unary()
	if err != nil {
		return engine.Call{}, err
	}
	call := engine.Call{Method: calls.Method, Backend: workload.BackendTrailer}
	encoding := protobufCodec
	if rest {
		if calls.Path == "" {
			return call, errors.New("this workload is served over gRPC only: use greet, fibonacci, increase or orders")
		}
		encoding = jsonCodec
		call.HTTP = &engine.HTTP{Method: http.MethodPost, Path: calls.Path, Version: 1, ErrorStatus: caller.RESTStatus}
		call.Metadata = []h2.Field{{Name: "content-type", Value: "application/json"}}
	}
	if calls.SameRequest {
		call.Message, err = encoding.marshal(nil, calls.Request(0))
	} else {
		call.AppendMessage = func(n uint64, _ int, dst []byte) ([]byte, error) { return encoding.marshal(dst, calls.Request(n)) }
	}
	checked := map[string]string{} // checked responses by backend; used by the engine's only thread
	call.Check = func(n uint64, answer []byte, backend string) error {
		if seen, ok := checked[backend]; ok && calls.ConstantReply && seen == string(answer) {
			return nil
		}
		reply := calls.Reply()
		if err := encoding.unmarshal(answer, reply); err != nil {
			return fmt.Errorf("the answer is not a %T: %w", reply, err)
		}
		if err := calls.Check(n, reply, backend); err != nil {
			return err
		}
		if calls.ConstantReply {
			checked[backend] = string(answer)
		}
		return nil
	}
	return call, err
}

// policy reports whether a gRPC service config selects round_robin, or pick_first with shuffled addresses. The first
// known policy counts; the default is pick_first without shuffling.
func policy(config string) (roundRobin, shuffle bool, err error) {
	if config == "" {
		return false, false, nil
	}
	var service struct {
		LoadBalancingConfig []map[string]json.RawMessage `json:"loadBalancingConfig"`
	}
	if err := json.Unmarshal([]byte(config), &service); err != nil {
		return false, false, fmt.Errorf("service config: %w", err)
	}
	for _, policy := range service.LoadBalancingConfig {
		for name, config := range policy {
			switch name {
			case "round_robin":
				return true, false, nil
			case "pick_first":
				var pickFirst struct {
					Shuffle bool `json:"shuffleAddressList"`
				}
				if err := json.Unmarshal(config, &pickFirst); err != nil {
					return false, false, fmt.Errorf("service config: pick_first: %w", err)
				}
				return false, pickFirst.Shuffle, nil
			}
		}
	}
	return false, false, nil
}

// codec encodes and decodes messages.
type codec struct {
	marshal   func(to []byte, m proto.Message) ([]byte, error)
	unmarshal func(p []byte, into proto.Message) error
}

var protobufCodec = codec{
	func(to []byte, m proto.Message) ([]byte, error) { return proto.MarshalOptions{}.MarshalAppend(to, m) },
	proto.Unmarshal,
}

// jsonCodec uses the field names in the generated messages' tags, which are those of the
// protobuf files (servers/CONTRACT.md).
var jsonCodec = codec{
	func(to []byte, m proto.Message) ([]byte, error) {
		text, err := json.Marshal(m)
		return append(to, text...), err
	},
	func(p []byte, into proto.Message) error { return json.Unmarshal(p, into) },
}
