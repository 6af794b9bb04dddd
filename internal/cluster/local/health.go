package local

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"rpclab/internal/cluster"
)

const (
	// Health checks of a ready backend are those of a kubelet with periodSeconds 1,
	// timeoutSeconds 1 and failureThreshold 3. The answer NOT_SERVING takes effect at once.
	probePeriod   = time.Second
	probeFailures = 3
	// maxProbePause is the longest pause between health checks of a backend that is starting.
	maxProbePause = 50 * time.Millisecond
)

// health checks whether a backend serves. Checks have their own source address, which network
// faults between backends and callers do not affect, as they do not affect a kubelet on the node.
type health interface {
	// probe returns nil if the backend serves, and an error that wraps errNotServing if the backend
	// answers that it does not.
	probe(context.Context) error
	Close() error
}

// errNotServing is the answer of a backend that is not ready.
var errNotServing = errors.New("not serving")

// awaitServing returns when the backend serves. After ctx ends, it returns the error of the last check.
func awaitServing(ctx context.Context, h health) error {
	var last error
	for pause := 2 * time.Millisecond; ; pause = min(maxProbePause, pause*13/10) {
		err := h.probe(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return cmp.Or(last, err)
		}
	}
}

// follow publishes the readiness of a ready backend by health checks until done closes.
func follow(done <-chan struct{}, h health, publish func(serving bool)) {
	tick := time.NewTicker(probePeriod)
	defer tick.Stop()
	failures := 0
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), probePeriod)
		err := h.probe(ctx)
		cancel()
		switch {
		case err == nil:
			failures = 0
		case errors.Is(err, errNotServing):
			failures = probeFailures // no need for more checks
		default:
			failures++
		}
		publish(failures < probeFailures)
	}
}

// readyOf is how rpclab's own server shows that it serves.
func readyOf(protocol string) cluster.Ready {
	switch protocol {
	case "rest":
		return cluster.Ready{Kind: cluster.ReadyHTTP, Path: "/healthz"}
	case "tcp":
		return cluster.Ready{Kind: cluster.ReadyTCP}
	}
	return cluster.Ready{Kind: cluster.ReadyGRPC}
}

// healthOf checks a backend from a source address; the zero address: any.
func healthOf(ready cluster.Ready, addr netip.AddrPort, from netip.Addr) (health, error) {
	dialer := &net.Dialer{}
	if from.IsValid() {
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	var config *tls.Config
	scheme, transport := "http://", insecure.NewCredentials()
	if ready.TLS {
		config = &tls.Config{InsecureSkipVerify: true} // as a kubelet's probe
		scheme, transport = "https://", credentials.NewTLS(config)
	}
	switch ready.Kind {
	case cluster.ReadyHTTP:
		if config != nil {
			config.ServerName = ready.Authority
			if host, _, err := net.SplitHostPort(ready.Authority); err == nil {
				config.ServerName = host
			}
		}
		return httpHealth{scheme + addr.String() + ready.Path, ready.Authority, &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: config}}, nil
	case cluster.ReadyTCP:
		return tcpHealth{addr.String(), dialer}, nil
	}
	// A backend that begins to listen is found in milliseconds.
	quick := backoff.Config{BaseDelay: 2 * time.Millisecond, Multiplier: 1.3, MaxDelay: maxProbePause}
	channel, err := grpc.NewClient("passthrough:///"+addr.String(),
		grpc.WithAuthority(cmp.Or(ready.Authority, addr.String())),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", to) }),
		grpc.WithTransportCredentials(transport),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: time.Second}))
	if err != nil {
		return nil, err
	}
	channel.Connect()
	return grpcHealth{channel}, nil
}

// flapping is the health of a program, which alternates while a flap event lasts.
type flapping struct {
	health

	mu    sync.Mutex
	every time.Duration // 0: it does not flap
	since time.Time
}

// flap alternates the health at an interval, not serving first; 0: no more.
func (f *flapping) flap(every time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.every, f.since = every, time.Now()
}

func (f *flapping) probe(ctx context.Context) error {
	f.mu.Lock()
	down := f.every > 0 && time.Since(f.since)/f.every%2 == 0
	f.mu.Unlock()
	if down {
		return fmt.Errorf("%w: it flaps", errNotServing)
	}
	return f.health.probe(ctx)
}

type grpcHealth struct{ *grpc.ClientConn }

func (h grpcHealth) probe(ctx context.Context) error {
	answer, err := healthv1.NewHealthClient(h.ClientConn).Check(ctx, &healthv1.HealthCheckRequest{})
	switch code := status.Code(err); {
	case code == codes.Unimplemented: // the backend answers, and has no health service
		return nil
	case err != nil:
		return fmt.Errorf("its gRPC health check failed with %s: %s", code, status.Convert(err).Message())
	case answer.GetStatus() != healthv1.HealthCheckResponse_SERVING:
		return fmt.Errorf("%w: its gRPC health check answers %s", errNotServing, answer.GetStatus())
	}
	return nil
}

type httpHealth struct {
	url, host string // empty host: that of the URL
	*http.Transport
}

func (h httpHealth) probe(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return err
	}
	request.Host = h.host
	answer, err := h.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("GET %s: %w", h.url, err)
	}
	if answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%w: GET %s answers %s", errNotServing, h.url, answer.Status)
	}
	return errors.Join(err, answer.Body.Close())
}

// Close implements [health].
func (h httpHealth) Close() error {
	h.CloseIdleConnections()
	return nil
}

// tcpHealth reports that a backend serves if it listens.
type tcpHealth struct {
	addr string
	*net.Dialer
}

func (h tcpHealth) probe(ctx context.Context) error {
	conn, err := h.DialContext(ctx, "tcp", h.addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Close implements [health].
func (tcpHealth) Close() error { return nil }
