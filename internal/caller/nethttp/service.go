package nethttp

import (
	"context"
	"errors"
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
	requests *service.Request
}

func openService(base gatewaySession) (*serviceSession, error) {
	if base.job.Service.HTTP == "" {
		return nil, errors.New("the caller http makes HTTP requests, and this call is a gRPC method: use the caller grpc-go or wire")
	}
	requests, err := service.OpenHTTP(*base.job.Service)
	if err != nil {
		return nil, err
	}
	base.url = strings.TrimSuffix(base.url, "/")
	if base.client.TLSClientConfig, err = base.job.Service.TLS.Config(); err != nil {
		return nil, err
	}
	if base.client.TLSClientConfig != nil {
		base.url = "https" + strings.TrimPrefix(base.url, "http")
	}
	return &serviceSession{base, requests}, nil
}

func (s *serviceSession) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	s.requests.StartLoad()
	recorder, start := caller.Run(ctx, plan, signal, s.job.Late, s.call, nil)
	return recorder, start, nil
}

func (s *serviceSession) call(ctx context.Context, n uint64) (o caller.Outcome) {
	ctx, cancel := context.WithTimeout(ctx, s.job.Timeout)
	defer cancel()
	address := ""
	if s.job.Service.Identity.IsAddress() {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { address = got.Conn.RemoteAddr().String() }})
	}
	request, err := s.requests.For(ctx, s.url, n)
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
	o.Backend, o.Code, o.Message = s.requests.Judge(answer.StatusCode, answer.Header, body, address)
	if o.Code == "" {
		o.Code = measure.OK
	}
	return o
}
