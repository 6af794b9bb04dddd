package local

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// health checks whether a backend serves. Checks have their own source address, which network
// faults between backends and callers do not affect, as they do not affect a kubelet on the node.
type health interface {
	// firstAnswer waits until the backend listens and answers.
	firstAnswer(context.Context) (serving bool, err error)
	probe(context.Context) (serving bool, err error)
	Close() error
}

func healthOf(protocol string, addr netip.AddrPort, from netip.Addr) (health, error) {
	dialer := &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	switch protocol {
	case "rest":
		return restHealth{"http://" + addr.String() + "/healthz", &http.Transport{DialContext: dialer.DialContext}}, nil
	case "tcp":
		return tcpHealth{addr.String(), dialer}, nil
	}
	// A backend that begins to listen is found in milliseconds.
	quick := backoff.Config{BaseDelay: 2 * time.Millisecond, Multiplier: 1.3, MaxDelay: maxProbePause}
	channel, err := grpc.NewClient("passthrough:///"+addr.String(),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", to) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: time.Second}))
	if err != nil {
		return nil, err
	}
	channel.Connect()
	return grpcHealth{channel}, nil
}

// maxProbePause is the longest pause between health checks of a backend that is starting.
const maxProbePause = 50 * time.Millisecond

type grpcHealth struct{ *grpc.ClientConn }

func (h grpcHealth) firstAnswer(ctx context.Context) (bool, error) {
	return h.check(ctx, grpc.WaitForReady(true))
}

func (h grpcHealth) probe(ctx context.Context) (bool, error) { return h.check(ctx) }

func (h grpcHealth) check(ctx context.Context, how ...grpc.CallOption) (bool, error) {
	answer, err := healthv1.NewHealthClient(h.ClientConn).Check(ctx, &healthv1.HealthCheckRequest{}, how...)
	return answer.GetStatus() == healthv1.HealthCheckResponse_SERVING, err
}

type restHealth struct {
	url string
	*http.Transport
}

func (h restHealth) firstAnswer(ctx context.Context) (bool, error) {
	return probeUntilAnswer(ctx, h.probe)
}

func (h restHealth) probe(ctx context.Context) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return false, err
	}
	answer, err := h.RoundTrip(request)
	if err != nil {
		return false, err
	}
	return answer.StatusCode == http.StatusOK, answer.Body.Close()
}

// Close implements [health].
func (h restHealth) Close() error {
	h.CloseIdleConnections()
	return nil
}

// tcpHealth reports that a backend serves if it listens.
type tcpHealth struct {
	addr string
	*net.Dialer
}

func (h tcpHealth) firstAnswer(ctx context.Context) (bool, error) {
	return probeUntilAnswer(ctx, h.probe)
}

func (h tcpHealth) probe(ctx context.Context) (bool, error) {
	conn, err := h.DialContext(ctx, "tcp", h.addr)
	if err != nil {
		return false, err
	}
	return true, conn.Close()
}

// Close implements [health].
func (tcpHealth) Close() error { return nil }

// probeUntilAnswer probes until there is an answer.
func probeUntilAnswer(ctx context.Context, probe func(context.Context) (bool, error)) (bool, error) {
	for pause := 2 * time.Millisecond; ; pause = min(maxProbePause, pause*13/10) {
		serving, err := probe(ctx)
		if err == nil {
			return serving, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, err
		}
	}
}
