package grpcgo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service"
	"rpclab/internal/service/method"
	"rpclab/internal/service/raw"
)

// reflectionTimeout bounds how long a server may take to describe its methods.
const reflectionTimeout = 30 * time.Second

// reflectionLimit is the size of the largest description of a file, in bytes. The default of grpc-go is 4 MB.
const reflectionLimit = 64 << 20

// Describe asks the server that a target reaches, with these options, for the files that define the method of a call.
func Describe(ctx context.Context, spec service.Spec, target caller.Target, calls ...grpc.CallOption) (source method.Source, err error) {
	ctx, cancel := context.WithTimeout(ctx, reflectionTimeout)
	defer cancel()
	md, err := spec.FirstMetadata()
	if err != nil {
		return nil, err
	}
	options, err := serviceOptions(spec, target, new(connectTime))
	if err != nil {
		return nil, err
	}
	channel, err := grpc.NewClient(target.URI, append(options, grpc.WithDefaultCallOptions(append(calls, grpc.MaxCallRecvMsgSize(reflectionLimit))...))...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, channel.Close()) }()
	if source, err = method.Copy(ctx, method.FromServer(channel, md), spec.Method); err != nil {
		return nil, fmt.Errorf("call %s: %w", spec.Name, service.InFields(err))
	}
	return source, nil
}

// OpenCall prepares the call of a service. It asks the server for the method if no file defines it. The backends are ready,
// but what is between them and the caller may not be: kube-proxy opens the port of a Service a moment after that is made.
func OpenCall(spec service.Spec, target caller.Target) (call *service.Call, err error) {
	ctx := context.Background()
	var source method.Source
	if len(spec.Protos) > 0 {
		source, err = method.FromDescriptors(spec.Protos)
	} else {
		source, err = Describe(ctx, spec, target, grpc.WaitForReady(true))
	}
	if err != nil {
		return nil, err
	}
	return service.Open(ctx, spec, source)
}

// serviceOptions returns the options of a channel to a service along a route, whose TLS handshakes are measured.
func serviceOptions(spec service.Spec, target caller.Target, connecting *connectTime) ([]grpc.DialOption, error) {
	options := DialOptions(target)
	config, err := spec.TLS.Config()
	if err != nil {
		return nil, err
	}
	authority := spec.Authority
	if config != nil {
		if authority == "" { // as grpc-go sets it, also where a resolver has another name (kuberesolver: SERVICE.NAMESPACE)
			authority = config.ServerName
		} else {
			config.ServerName = "" // grpc-go verifies the authority, and refuses another name
		}
		options = append(options, grpc.WithTransportCredentials(timedCredentials{credentials.NewTLS(config), connecting}))
	}
	if authority != "" {
		options = append(options, grpc.WithAuthority(authority))
	}
	return options, nil
}

// serviceCalls makes the calls of a service: one, a mix, or a flow.
type serviceCalls struct {
	mix   service.Mix
	flow  *service.Flow // nil: there is none
	calls []*serviceCall
	names []string
}

func openServiceCalls(job caller.Job, target caller.Target) (*serviceCalls, error) {
	all := &serviceCalls{mix: service.NewMix(job.Calls)}
	for _, spec := range job.Calls {
		call, err := OpenCall(spec, target)
		if err != nil {
			return nil, err
		}
		if call.Stream != nil && job.Hedge != nil {
			return nil, fmt.Errorf("caller.hedge sends unary calls again, and the call %s of a streaming method has several messages: leave it out", spec.Name)
		}
		all.calls, all.names = append(all.calls, &serviceCall{Call: call, timeout: job.Timeout}), append(all.names, spec.Name)
	}
	if !job.Flow {
		return all, nil
	}
	var prepared []*service.Call
	for _, call := range all.calls {
		prepared = append(prepared, call.Call)
	}
	var err error
	all.flow, err = service.NewFlow(prepared)
	return all, err
}

// run makes the calls of a load.
func (s *serviceCalls) run(ctx context.Context, plan pace.Pace, signal measure.StartSignal, late time.Duration, do caller.CallFunc) (*measure.Recorder, time.Time) {
	single := len(s.calls) == 1
	anew := single || s.flow != nil || s.mix.StartLoad(signal.Continues)
	for _, call := range s.calls {
		call.begin(anew)
	}
	if single {
		return caller.Run(ctx, plan, signal, late, do)
	}
	return caller.RunNamed(ctx, plan, signal, late, func(n uint64) string {
		if s.flow != nil {
			return s.names[0]
		}
		i, _ := s.mix.Of(n)
		return s.names[i]
	}, do)
}

// end adds to the recorder of a load what its calls did not record themselves.
func (s *serviceCalls) end(load *measure.Recorder) {
	for _, call := range s.calls {
		if call.streams != nil {
			load.Merge(call.streams.Recorded())
		}
	}
}

// invoke makes call n of a load, or flow n.
func (s *serviceCalls) invoke(ctx context.Context, channel *grpc.ClientConn, n uint64) caller.Outcome {
	if s.flow == nil {
		i, number := s.mix.Of(n)
		return s.calls[i].invoke(ctx, channel, number, nil, nil, nil)
	}
	answers := service.Answers{}
	return caller.CallFlow(s.names, func(i int) caller.Outcome {
		values, err := s.flow.Values(i, answers)
		if err != nil {
			return caller.Outcome{Code: "INTERNAL", Message: err.Error()}
		}
		var keep func([]byte) error
		answer, fields := s.flow.Reads(i)
		if answer {
			keep = func(response []byte) error {
				answer, err := s.calls[i].Answer(response)
				s.flow.Add(answers, i, answer)
				return err
			}
		}
		var from Answered
		o := s.calls[i].invoke(ctx, channel, n, values, keep, &from)
		if fields {
			s.flow.AddFields(answers, i, from.Header, from.Trailer)
		}
		return o
	})
}

// serviceCall makes one of the calls of a service.
type serviceCall struct {
	*service.Call
	timeout time.Duration // of a stream
	streams *Streams      // of the load; nil: unary
}

// begin begins a load. anew says that its calls are numbered from 0.
func (s *serviceCall) begin(anew bool) {
	if anew {
		s.StartLoad()
	}
	if s.Stream != nil {
		s.streams = NewStreams(s.Stream, s.Path, s.timeout)
	}
}

// invoke makes call n, which is a whole stream if the method is streaming, with the values of its flow. keep gets each
// right response, and answered what came with it; nil: nothing is kept.
func (s *serviceCall) invoke(ctx context.Context, channel *grpc.ClientConn, n uint64, values service.Values, keep func([]byte) error, answered *Answered) caller.Outcome {
	request, err := s.Message(n, values)
	if err != nil {
		return caller.Outcome{Code: "INTERNAL", Message: "make the request: " + err.Error()}
	}
	md, err := s.Metadata(n, values)
	if err != nil {
		return caller.Outcome{Code: "INTERNAL", Message: "make the metadata: " + err.Error()}
	}
	ctx = metadata.NewOutgoingContext(ctx, md)
	named, responses := "", 0
	judge := func(response []byte) error {
		responses++
		backend, err := s.Judge(response)
		named = cmp.Or(named, backend)
		if err == nil && keep != nil {
			err = keep(response)
		}
		return err
	}
	var from Answered
	var wait time.Duration
	if s.streams != nil {
		from, wait, err = s.streams.Call(ctx, channel, n, request, judge)
	} else {
		from, wait, err = s.unary(ctx, channel, request, judge)
	}
	if wrong, ok := errors.AsType[raw.InvalidError](err); ok {
		return caller.Outcome{Code: service.CodeOf(wrong), Message: fmt.Sprintf("call %s: %v", s.Path, wrong), Wait: wait}
	}
	if err != nil {
		return failed(err, wait)
	}
	if err := s.CheckAnswered(responses); err != nil {
		return caller.Outcome{Code: service.CodeOf(err), Message: fmt.Sprintf("call %s: %v", s.Path, err), Wait: wait}
	}
	if answered != nil {
		*answered = from
	}
	return caller.Outcome{Backend: cmp.Or(named, s.backend(from)), Code: measure.OK, Wait: wait}
}

func (s *serviceCall) unary(ctx context.Context, channel *grpc.ClientConn, request []byte, judge func([]byte) error) (from Answered, wait time.Duration, err error) {
	response := raw.Response{Decode: judge}
	from.Peer = new(peer.Peer)
	wait, err = Invoke(ctx, channel, raw.Codec{}, s.Path, request, &response, grpc.Header(&from.Header), grpc.Trailer(&from.Trailer), grpc.Peer(from.Peer))
	if err == nil {
		err = response.Invalid
	}
	return from, wait, err
}

// backend returns the name of the backend that answered.
func (s *serviceCall) backend(from Answered) string {
	address := ""
	if from.Peer != nil && from.Peer.Addr != nil {
		address = from.Peer.Addr.String()
	}
	return s.Identity().BackendOf(from.Header, from.Trailer, address)
}
