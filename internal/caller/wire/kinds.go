package wire

import (
	"slices"
	"strings"

	"rpclab/internal/service"
	engine "rpclab/internal/wire"
	"rpclab/internal/wire/h2"
)

// oneCall is the engine's call of one call of a service.
type oneCall struct {
	engine.Call
	startLoad func()
}

// join returns the call whose functions are those of the kinds of calls. kindOf returns the kind of a call by its
// number, and the number among the calls of that kind.
func join(calls []oneCall, kindOf func(number uint64) (kind int, n uint64)) engine.Call {
	all := engine.Call{Authority: calls[0].Authority, Backend: calls[0].Backend, HTTP: calls[0].HTTP}
	all.AppendMessage = func(number uint64, worker int, to []byte) ([]byte, error) {
		kind, n := kindOf(number)
		if calls[kind].AppendMessage == nil {
			return append(to, calls[kind].Message...), nil
		}
		return calls[kind].AppendMessage(n, worker, to)
	}
	if slices.ContainsFunc(calls, func(c oneCall) bool { return c.AppendMetadata != nil }) {
		all.AppendMetadata = func(number uint64, worker int, to []h2.Field) ([]h2.Field, error) {
			kind, n := kindOf(number)
			if calls[kind].AppendMetadata == nil {
				return to, nil
			}
			return calls[kind].AppendMetadata(n, worker, to)
		}
	}
	if all.HTTP == nil {
		all.Check = func(number uint64, response []byte, backend string) error {
			kind, n := kindOf(number)
			return calls[kind].Check(n, response, backend)
		}
		return all
	}
	if slices.ContainsFunc(calls, func(c oneCall) bool { return c.AppendPath != nil }) {
		all.AppendPath = func(number uint64, worker int, to []byte) ([]byte, error) {
			kind, n := kindOf(number)
			if calls[kind].AppendPath == nil {
				return append(to, calls[kind].HTTP.Path...), nil
			}
			return calls[kind].AppendPath(n, worker, to)
		}
	}
	http := *all.HTTP
	http.Judge = func(number uint64, head *h2.Headers, body []byte) h2.Status {
		kind, n := kindOf(number)
		return calls[kind].HTTP.Judge(n, head, body)
	}
	all.HTTP = &http
	return all
}

// backendField returns the header or trailer that names a backend.
func backendField(identity service.Identity) string {
	if name := identity.Trailer + identity.Header; name != "" {
		return strings.ToLower(name)
	}
	return service.UpstreamHeader
}
