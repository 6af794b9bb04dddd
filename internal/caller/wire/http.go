package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/metadata"

	"rpclab/internal/caller"
	"rpclab/internal/service"
	engine "rpclab/internal/wire"
	"rpclab/internal/wire/h2"
)

// openRequests prepares HTTP requests.
func openRequests(job caller.Job, _ caller.Target) (calls []oneCall, flow *flow, err error) {
	var prepared []*service.Request
	for _, spec := range job.Calls {
		one, err := service.OpenHTTP(spec)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case spec.Identity.Field != "":
			return nil, nil, errors.New("the caller wire does not read identity.field: set identity to a header, or use http")
		case one.ReadsHeaders():
			return nil, nil, fmt.Errorf("the caller wire does not read headers, which check of call %s does: set caller.kind to http", spec.Name)
		case (spec.HTTP == http.MethodHead) != (job.Calls[0].HTTP == http.MethodHead):
			return nil, nil, fmt.Errorf("the caller wire does not make HEAD requests and others on the same connections (calls %s and %s): set caller.kind to http", job.Calls[0].Name, spec.Name)
		}
		prepared = append(prepared, one)
	}
	if job.Flow {
		compiled, err := service.NewHTTPFlow(job.Calls)
		if err != nil {
			return nil, nil, err
		}
		flow = newFlow(compiled, len(prepared))
	}
	for i, one := range prepared {
		call, err := requestCall(job.Calls[i], one, flow.step(i))
		if err != nil {
			return nil, nil, err
		}
		calls = append(calls, oneCall{call, one.StartLoad})
	}
	return calls, flow, nil
}

// requestCall returns the engine's call of an HTTP request.
func requestCall(spec service.Spec, prepared *service.Request, step step) (call engine.Call, err error) {
	call = engine.Call{Authority: spec.Authority, Backend: backendField(spec.Identity)}
	call.HTTP = &engine.HTTP{Method: spec.HTTP, Path: spec.Path, Version: 1, Judge: func(n uint64, head *h2.Headers, body []byte) h2.Status {
		header := http.Header{"Content-Type": {head.Type}}
		if _, code, message := prepared.Judge(head.Status, header, body, ""); code != "" {
			return statusOf(code, head.Status, message)
		}
		if !step.isRead() {
			return h2.Status{}
		}
		answer, err := service.Answer(body, header)
		step.add(n, answer)
		if err != nil {
			return h2.Status{Code: h2.DataLoss, Message: err.Error()}
		}
		return h2.Status{}
	}}
	if prepared.VariesPath() {
		call.HTTP.Path = "/" // until each request has its own
		call.AppendPath = func(n uint64, worker int, to []byte) ([]byte, error) {
			values, err := step.values(n, worker)
			if err != nil {
				return to, err
			}
			path, err := prepared.Path(n, values)
			return append(to, path...), err
		}
	}
	if prepared.VariesHeader() {
		call.AppendMetadata = func(n uint64, worker int, to []h2.Field) ([]h2.Field, error) {
			values, err := step.values(n, worker)
			if err != nil {
				return to, err
			}
			md, err := prepared.Header(n, values)
			return appendHeader(to, md), err
		}
	} else {
		md, err := prepared.Header(0, nil)
		if err != nil {
			return call, err
		}
		call.Metadata = appendHeader(nil, md)
	}
	if prepared.VariesBody() || step.takesValues() {
		call.AppendMessage = func(n uint64, worker int, to []byte) ([]byte, error) {
			values, err := step.values(n, worker)
			if err != nil {
				return to, err
			}
			body, err := prepared.Body(n, values)
			return append(to, body...), err
		}
		return call, nil
	}
	call.Message, err = prepared.Body(0, nil)
	return call, err
}

// appendHeader appends header fields.
func appendHeader(to []h2.Field, md metadata.MD) []h2.Field {
	for name, values := range md {
		for _, value := range values {
			to = append(to, h2.Field{Name: strings.ToLower(name), Value: value})
		}
	}
	return to
}

// statusOf returns the engine's status of a code that [service.Request.Judge] returned.
func statusOf(code string, status int, message string) h2.Status {
	switch code {
	case service.CheckFailed:
		return h2.Status{Code: h2.CheckFailed, Message: message}
	case caller.DataLoss:
		return h2.Status{Code: h2.DataLoss, Message: message}
	}
	return h2.Status{Code: uint32(status), Message: message}
}
