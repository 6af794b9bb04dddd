package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"rpclab/internal/load/data"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

// httpClient makes REST calls with net/http: HTTP/1.1 keep-alive, or HTTP/2 where TLS
// agrees on it. Redirects are answers like others.
type httpClient struct {
	client   *http.Client
	request  *http.Request // without body
	timeout  time.Duration
	messages *data.Messages
	reply    atomic.Int64
}

// openHTTP prepares REST calls and finds out whether anybody listens.
func openHTTP(ctx context.Context, method, target string, headers http.Header, connections, inFlight int, security *tls.Config, dial dialer) (*httpClient, error) {
	request, err := http.NewRequest(method, target, nil)
	if err != nil {
		return nil, wrong{err}
	}
	request.Header = headers.Clone()
	if host := headers.Get("Host"); host != "" {
		request.Host = host
	}
	if dial == nil {
		dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	first, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	connection, err := dial(first, address(request.URL))
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", target, err)
	}
	if err := connection.Close(); err != nil {
		return nil, err
	}
	return &httpClient{
		request: request,
		client: &http.Client{
			Transport: &http.Transport{
				DialContext:         func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) },
				TLSClientConfig:     security,
				ForceAttemptHTTP2:   true,
				DisableCompression:  true,
				MaxConnsPerHost:     connections, // 0: no bound
				MaxIdleConnsPerHost: max(connections, inFlight),
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// address is what a URL connects to.
func address(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

func (c *httpClient) Run(ctx context.Context, p pace.Pace, live *Live) (*measure.Recorder, time.Time, error) {
	return drive(ctx, p, c.messages, c.timeout, live, c.send)
}

func (c *httpClient) send(ctx context.Context, _ uint64, body []byte) (backend, code, text string) {
	request := c.request.WithContext(ctx)
	if len(body) > 0 {
		request.Body = io.NopCloser(bytes.NewReader(body))
		request.ContentLength = int64(len(body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	response, err := c.client.Do(request)
	if err != nil {
		return "", broken(ctx, err), err.Error()
	}
	defer response.Body.Close()
	size, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		return "", broken(ctx, err), err.Error()
	}
	if response.StatusCode >= http.StatusBadRequest {
		return "", fmt.Sprintf("HTTP_%d", response.StatusCode), response.Status
	}
	c.reply.Store(size)
	if id := response.Header.Get(workload.Trailer); id != "" {
		return id, measure.OK, ""
	}
	return c.request.URL.Host, measure.OK, ""
}

// broken is the code of a call without an answer, by the names that gRPC has for it.
func broken(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() == context.DeadlineExceeded:
		return "DEADLINE_EXCEEDED"
	case errors.Is(err, context.Canceled):
		return "CANCELLED"
	}
	return "UNAVAILABLE"
}

func (c *httpClient) ReplyBytes() int { return int(c.reply.Load()) }

func (c *httpClient) Close() error {
	c.client.CloseIdleConnections()
	return nil
}
