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

// health is how a backend says whether it serves. It is asked from the cluster's own
// address, by which what is cut between backends and callers can spare the probe, as a
// kubelet beside the pod is spared.
type health interface {
	// await returns its first answer, once it listens.
	await(context.Context) (serving bool, err error)
	probe(context.Context) (serving bool, err error)
	Close() error
}

func healthOf(speaks string, addr netip.AddrPort, from netip.Addr) (health, error) {
	dialer := &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	switch speaks {
	case "rest":
		return overREST{"http://" + addr.String() + "/healthz", &http.Transport{DialContext: dialer.DialContext}}, nil
	case "tcp":
		return overTCP{addr.String(), dialer}, nil
	}
	// One that listens is found in milliseconds.
	eager := backoff.Config{BaseDelay: 2 * time.Millisecond, Multiplier: 1.3, MaxDelay: longestLook}
	channel, err := grpc.NewClient("passthrough:///"+addr.String(),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", to) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: eager, MinConnectTimeout: time.Second}))
	if err != nil {
		return nil, err
	}
	channel.Connect()
	return overGRPC{channel}, nil
}

// longestLook is the longest time between two looks at a backend that is starting.
const longestLook = 50 * time.Millisecond

type overGRPC struct{ *grpc.ClientConn }

func (h overGRPC) await(ctx context.Context) (bool, error) {
	return h.ask(ctx, grpc.WaitForReady(true))
}

func (h overGRPC) probe(ctx context.Context) (bool, error) { return h.ask(ctx) }

func (h overGRPC) ask(ctx context.Context, how ...grpc.CallOption) (bool, error) {
	answer, err := healthv1.NewHealthClient(h.ClientConn).Check(ctx, &healthv1.HealthCheckRequest{}, how...)
	return answer.GetStatus() == healthv1.HealthCheckResponse_SERVING, err
}

type overREST struct {
	url string
	*http.Transport
}

func (h overREST) await(ctx context.Context) (bool, error) { return look(ctx, h.probe) }

func (h overREST) probe(ctx context.Context) (bool, error) {
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
func (h overREST) Close() error {
	h.CloseIdleConnections()
	return nil
}

// overTCP is one that serves when it listens.
type overTCP struct {
	addr string
	*net.Dialer
}

func (h overTCP) await(ctx context.Context) (bool, error) { return look(ctx, h.probe) }

func (h overTCP) probe(ctx context.Context) (bool, error) {
	conn, err := h.DialContext(ctx, "tcp", h.addr)
	if err != nil {
		return false, err
	}
	return true, conn.Close()
}

// Close implements [health].
func (overTCP) Close() error { return nil }

// look probes until there is an answer.
func look(ctx context.Context, probe func(context.Context) (bool, error)) (bool, error) {
	for pause := 2 * time.Millisecond; ; pause = min(longestLook, pause*13/10) {
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
