package nethttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service"
)

// serviceSession sends the HTTP requests of a service.
type serviceSession struct {
	gatewaySession
	mix      service.Mix
	flow     *service.Flow // nil: there is none
	names    []string
	requests []*service.Request
}

func openService(base gatewaySession) (*serviceSession, error) {
	calls := base.job.Calls
	opened := &serviceSession{mix: service.NewMix(calls)}
	for _, spec := range calls {
		if spec.HTTP == "" {
			return nil, fmt.Errorf("the caller http makes HTTP requests, and the call %s is a gRPC method: use the caller grpc-go or wire", spec.Name)
		}
		request, err := service.OpenHTTP(spec)
		if err != nil {
			return nil, err
		}
		opened.requests, opened.names = append(opened.requests, request), append(opened.names, spec.Name)
	}
	var err error
	if base.job.Flow {
		if opened.flow, err = service.NewHTTPFlow(calls); err != nil {
			return nil, err
		}
	}
	base.url = strings.TrimSuffix(base.url, "/")
	if base.client.TLSClientConfig, err = calls[0].TLSConfig(); err != nil {
		return nil, err
	}
	if base.client.TLSClientConfig != nil {
		base.url = "https" + strings.TrimPrefix(base.url, "http")
	}
	opened.gatewaySession = base
	return opened, nil
}

func (s *serviceSession) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	single := len(s.requests) == 1
	if single || s.flow != nil || s.mix.StartLoad(signal.Continues) {
		for _, request := range s.requests {
			request.StartLoad()
		}
	}
	if single {
		recorder, start := caller.Run(ctx, plan, signal, s.job.Late, s.call)
		return recorder, start, nil
	}
	recorder, start := caller.RunNamed(ctx, plan, signal, s.job.Late, func(n uint64) string {
		if s.flow != nil {
			return s.names[0]
		}
		i, _ := s.mix.Of(n)
		return s.names[i]
	}, s.call)
	return recorder, start, nil
}

// call makes call n of a load, or flow n.
func (s *serviceSession) call(ctx context.Context, n uint64) caller.Outcome {
	ctx, cancel := context.WithTimeout(ctx, s.job.Timeout)
	defer cancel()
	if s.flow == nil {
		i, number := s.mix.Of(n)
		return s.request(ctx, s.requests[i], number, nil, nil)
	}
	answers := service.Answers{}
	return caller.CallFlow(s.names, func(i int) caller.Outcome {
		values, err := s.flow.Values(i, answers)
		if err != nil {
			return caller.Outcome{Code: "INTERNAL", Message: err.Error()}
		}
		var keep func([]byte, *http.Response) error
		if body, fields := s.flow.Reads(i); body || fields {
			keep = func(content []byte, response *http.Response) (err error) {
				var answer any
				if body {
					answer, err = service.Answer(content, response.Header)
				}
				s.flow.Add(answers, i, answer)
				s.flow.AddFields(answers, i, response.Header, response.Trailer)
				return err
			}
		}
		return s.request(ctx, s.requests[i], n, values, keep)
	})
}

// request makes request n of a kind with the values of its flow. keep, if not nil, gets the right response.
func (s *serviceSession) request(ctx context.Context, called *service.Request, n uint64, values service.Values, keep func([]byte, *http.Response) error) (o caller.Outcome) {
	request, err := called.For(ctx, s.url, n, values)
	if err != nil {
		return caller.Outcome{Code: "INTERNAL", Message: "make the request: " + err.Error()}
	}
	server, answer, err := send(s.transport(ctx), request)
	if err != nil {
		return caller.Outcome{Code: caller.TransportCode(err), Message: err.Error()}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err != nil {
		return caller.Outcome{Code: caller.TransportCode(err), Message: err.Error()}
	}
	if len(body) > maxBody {
		return caller.Outcome{Code: "RESOURCE_EXHAUSTED", Message: fmt.Sprintf("the body has more than %d bytes", maxBody)}
	}
	address := ""
	if server != nil && s.job.Calls[0].Identity.IsAddress() {
		address = server.String()
	}
	o.Backend, o.Code, o.Message = called.Judge(answer.StatusCode, answer.Header, body, address)
	if o.Code != "" {
		return o
	}
	o.Code = measure.OK
	if keep != nil {
		if err := keep(body, answer); err != nil {
			return caller.Outcome{Backend: o.Backend, Code: "DATA_LOSS", Message: err.Error()}
		}
	}
	return o
}
