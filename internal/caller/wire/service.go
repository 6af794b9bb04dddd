package wire

import (
	"errors"
	"strings"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/service"
	engine "rpclab/internal/wire"
	"rpclab/internal/wire/h2"
)

// serviceCall returns the engine's call of a service, and what to do before each load.
func serviceCall(spec service.Spec, target caller.Target) (call engine.Call, startLoad func(), err error) {
	prepared, err := grpcgo.OpenCall(spec, target)
	if err != nil {
		return call, nil, err
	}
	identity := prepared.Identity()
	if identity.Field != "" {
		return call, nil, errors.New("the caller wire does not read identity.field: set identity to a header or a trailer, or use grpc-go")
	}
	call = engine.Call{Method: prepared.Path, Stream: prepared.Stream, Authority: prepared.Authority(), Backend: service.UpstreamHeader}
	if name := identity.Trailer + identity.Header; name != "" {
		call.Backend = strings.ToLower(name)
	}
	fixed := false
	if call.Message, fixed = prepared.Constant(); !fixed {
		call.AppendMessage = func(n uint64, _ int, to []byte) ([]byte, error) {
			message, err := prepared.Message(n)
			return append(to, message...), err
		}
	}
	md, err := prepared.Metadata(0)
	if err != nil {
		return call, nil, err
	}
	if prepared.VariesMetadata() {
		call.AppendMetadata = func(n uint64, _ int, to []h2.Field) ([]h2.Field, error) {
			md, err := prepared.Metadata(n)
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
	return call, prepared.StartLoad, nil
}
