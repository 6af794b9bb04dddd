package wire

import (
	"errors"
	"fmt"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/service"
	engine "rpclab/internal/wire"
	"rpclab/internal/wire/h2"
)

// openCalls prepares calls of gRPC methods.
func openCalls(job caller.Job, target caller.Target) (calls []oneCall, flow *flow, err error) {
	var prepared []*service.Call
	for _, spec := range job.Calls {
		one, err := grpcgo.OpenCall(spec, target)
		if err != nil {
			return nil, nil, err
		}
		if one.Identity().Field != "" {
			return nil, nil, errors.New("the caller wire does not read identity.field: set identity to a header or a trailer, or use grpc-go")
		}
		if one.Stream != nil && len(job.Calls) > 1 {
			return nil, nil, fmt.Errorf("the caller wire makes several calls of unary methods only, and %s is a streaming method: set caller.kind to grpc-go (in rpclab load: add --engine grpc-go)", spec.Name)
		}
		prepared = append(prepared, one)
	}
	if job.Flow {
		compiled, err := service.NewFlow(prepared)
		if err != nil {
			return nil, nil, err
		}
		flow = newFlow(compiled, len(prepared))
	}
	for i, one := range prepared {
		call, err := serviceCall(one, flow.step(i))
		if err != nil {
			return nil, nil, err
		}
		calls = append(calls, oneCall{call, one.StartLoad})
	}
	return calls, flow, nil
}

// serviceCall returns the engine's call of one call of a service.
func serviceCall(prepared *service.Call, step step) (call engine.Call, err error) {
	call = engine.Call{Method: prepared.Path, Stream: prepared.Stream, Authority: prepared.Authority(), Backend: backendField(prepared.Identity())}
	fixed := false
	if call.Message, fixed = prepared.Constant(); !fixed || step.takesValues() {
		call.AppendMessage = func(n uint64, worker int, to []byte) ([]byte, error) {
			values, err := step.values(n, worker)
			if err != nil {
				return to, err
			}
			message, err := prepared.Message(n, values)
			return append(to, message...), err
		}
	}
	if prepared.VariesMetadata() {
		call.AppendMetadata = func(n uint64, worker int, to []h2.Field) ([]h2.Field, error) {
			values, err := step.values(n, worker)
			if err != nil {
				return to, err
			}
			md, err := prepared.Metadata(n, values)
			return h2.AppendMetadata(to, md), err
		}
	} else {
		md, err := prepared.Metadata(0, nil)
		if err != nil {
			return call, err
		}
		call.Metadata = h2.AppendMetadata(nil, md)
	}
	call.Check = func(n uint64, response []byte, _ string) error {
		_, err := prepared.Judge(response)
		if service.CodeOf(err) == service.CheckFailed {
			return engine.NewCheckError(err)
		}
		if err != nil || !step.isRead() {
			return err
		}
		answer, err := prepared.Answer(response)
		step.add(n, answer)
		return err
	}
	return call, nil
}
