// Package nethttp is the caller that uses Go's HTTP client. It calls a REST service, or asks
// `rpclab gateway` to make several calls for each request.
package nethttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"rpclab/internal/caller"
)

// Caller opens HTTP clients. Shared channels are kept-alive connections. With a channel per call,
// every request opens its own connection. With a channel per user, each user has its own client,
// which keeps its connection. Over HTTP/2, requests in flight share the connection of a client.
type Caller struct{}

// Open prepares a client. The target is one address: passthrough:///host:port.
func (Caller) Open(job caller.Job, target caller.Target) (caller.Session, error) {
	if job.Channels.Pool > 1 {
		return nil, errors.New("the caller http does not support a pool of channels: use shared, per-user or per-call")
	}
	opened := gatewaySession{job: job, url: "http://" + strings.TrimPrefix(target.URI, "passthrough:///"), users: &userClients{}}
	opened.client = &http.Transport{ // ignores proxies named by the environment
		DisableKeepAlives: job.Channels.Mode == caller.PerCall, MaxIdleConnsPerHost: 10_000, IdleConnTimeout: time.Minute,
	}
	if job.HTTP2 {
		opened.client.Protocols = new(http.Protocols)
		opened.client.Protocols.SetHTTP2(true)
		opened.client.Protocols.SetUnencryptedHTTP2(true)
	}
	if target.Dial != nil {
		opened.client.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) { return target.Dial(ctx, addr) }
	}
	if !job.HTTP2 { // over HTTP/2 a request is sent again only if the server did not process it
		opened.client.DialContext = counted(opened.client.DialContext)
	}
	if len(job.Calls) > 0 {
		return openService(opened)
	}
	if job.Iterations == 0 {
		return openREST(opened)
	}
	path, err := gatewayPath(job)
	if err != nil {
		return nil, err
	}
	opened.url += path
	return &opened, nil
}
