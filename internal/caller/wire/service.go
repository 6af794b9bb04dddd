package wire

import (
	"errors"
	"fmt"
	"strings"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/service"
	engine "rpclab/internal/wire"
	"rpclab/internal/wire/h2"
)

// serviceCalls returns the engine's call of a service, which is a mix if there are several, and what to do before
// each load.
func serviceCalls(specs []service.Spec, target caller.Target) (call engine.Call, startLoad func(), err error) {
	if len(specs) == 1 {
		prepared, err := openCall(specs[0], target)
		if err != nil {
			return call, nil, err
		}
		call, err = serviceCall(prepared)
		return call, prepared.StartLoad, err
	}
	mix := service.NewMix(specs)
	kinds, calls := make([]engine.Kind, len(specs)), make([]engine.Call, len(specs))
	var start []func()
	varies := false
	for i, spec := range specs {
		prepared, err := openCall(spec, target)
		if err != nil {
			return call, nil, err
		}
		if prepared.Stream != nil {
			return call, nil, fmt.Errorf("the caller wire mixes unary calls only, and %s is a streaming method: set caller.kind to grpc-go", spec.Name)
		}
		if calls[i], err = serviceCall(prepared); err != nil {
			return call, nil, err
		}
		kinds[i] = engine.Kind{Name: spec.Name, Method: calls[i].Method, Metadata: calls[i].Metadata}
		varies, start = varies || calls[i].AppendMetadata != nil, append(start, prepared.StartLoad)
	}
	call = engine.Call{Authority: calls[0].Authority, Backend: calls[0].Backend}
	call.Mix = &engine.Mix{Kinds: kinds, KindOf: func(n uint64) int { kind, _ := mix.Of(n); return kind }}
	call.AppendMessage = func(n uint64, worker int, to []byte) ([]byte, error) {
		kind, number := mix.Of(n)
		if calls[kind].AppendMessage == nil {
			return append(to, calls[kind].Message...), nil
		}
		return calls[kind].AppendMessage(number, worker, to)
	}
	if varies {
		call.AppendMetadata = func(n uint64, worker int, to []h2.Field) ([]h2.Field, error) {
			kind, number := mix.Of(n)
			if calls[kind].AppendMetadata == nil {
				return to, nil
			}
			return calls[kind].AppendMetadata(number, worker, to)
		}
	}
	call.Check = func(n uint64, response []byte, backend string) error {
		kind, number := mix.Of(n)
		return calls[kind].Check(number, response, backend)
	}
	return call, func() {
		for _, begin := range start {
			begin()
		}
	}, nil
}

func openCall(spec service.Spec, target caller.Target) (*service.Call, error) {
	prepared, err := grpcgo.OpenCall(spec, target)
	if err == nil && prepared.Identity().Field != "" {
		err = errors.New("the caller wire does not read identity.field: set identity to a header or a trailer, or use grpc-go")
	}
	return prepared, err
}

// serviceCall returns the engine's call of one call of a service.
func serviceCall(prepared *service.Call) (call engine.Call, err error) {
	call = engine.Call{Method: prepared.Path, Stream: prepared.Stream, Authority: prepared.Authority(), Backend: service.UpstreamHeader}
	if name := prepared.Identity().Trailer + prepared.Identity().Header; name != "" {
		call.Backend = strings.ToLower(name)
	}
	fixed := false
	if call.Message, fixed = prepared.Constant(); !fixed {
		call.AppendMessage = func(n uint64, _ int, to []byte) ([]byte, error) {
			message, err := prepared.Message(n, nil)
			return append(to, message...), err
		}
	}
	md, err := prepared.Metadata(0, nil)
	if err != nil {
		return call, err
	}
	if prepared.VariesMetadata() {
		call.AppendMetadata = func(n uint64, _ int, to []h2.Field) ([]h2.Field, error) {
			md, err := prepared.Metadata(n, nil)
			return h2.AppendMetadata(to, md), err
		}
	} else {
		call.Metadata = h2.AppendMetadata(nil, md)
	}
	call.Check = func(_ uint64, response []byte, _ string) error {
		_, err := prepared.Judge(response)
		if service.CodeOf(err) == service.CheckFailed {
			return engine.NewCheckError(err)
		}
		return err
	}
	return call, nil
}
