package nethttp

import (
	"context"
	"fmt"
	"io"
	"net/http/httptrace"
	"strings"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service"
)

// maxBody is the longest body of a response, in bytes, as of gRPC messages.
const maxBody = 4 << 20

// serviceSession sends the HTTP requests of a service.
type serviceSession struct {
	gatewaySession
	mix      service.Mix
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
		opened.requests = append(opened.requests, request)
	}
	base.url = strings.TrimSuffix(base.url, "/")
	var err error
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
	for _, request := range s.requests {
		request.StartLoad()
	}
	if len(s.requests) == 1 {
		recorder, start := caller.Run(ctx, plan, signal, s.job.Late, s.call, nil)
		return recorder, start, nil
	}
	recorder, start := caller.RunNamed(ctx, plan, signal, s.job.Late, func(n uint64) string {
		i, _ := s.mix.Of(n)
		return s.job.Calls[i].Name
	}, s.call)
	return recorder, start, nil
}

func (s *serviceSession) call(ctx context.Context, n uint64) (o caller.Outcome) {
	i, number := s.mix.Of(n)
	called := s.requests[i]
	ctx, cancel := context.WithTimeout(ctx, s.job.Timeout)
	defer cancel()
	address := ""
	if s.job.Calls[0].Identity.IsAddress() {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { address = got.Conn.RemoteAddr().String() }})
	}
	request, err := called.For(ctx, s.url, number)
	if err != nil {
		return caller.Outcome{Code: "INTERNAL", Message: "make the request: " + err.Error()}
	}
	answer, err := s.transport(ctx).RoundTrip(request)
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
	o.Backend, o.Code, o.Message = called.Judge(answer.StatusCode, answer.Header, body, address)
	if o.Code == "" {
		o.Code = measure.OK
	}
	return o
}
