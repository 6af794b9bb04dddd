package kubernetes

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"rpclab/internal/agent"
)

// attend takes up the program behind an agent of a pod, or starts one by it. The way
// closes when the program is gone, or the way to it.
func (c *Cluster) attend(ctx context.Context, pod string, port int, place agent.Place) (*agent.Process, error) {
	place.Token = c.token
	eager := backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second}
	way, err := grpc.NewClient("passthrough:///"+pod,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return c.api.tunnel(ctx, c.namespace, pod, port)
		}),
		// What travels is inside the API server's TLS, and ends on the pod's loopback address.
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: eager, MinConnectTimeout: 10 * time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(largest)))
	if err != nil {
		return nil, err
	}
	p, err := agent.Attend(ctx, way, place)
	if err != nil {
		way.Close()
		return nil, fmt.Errorf("pod %s: %w", pod, err)
	}
	c.tasks.Go(func() {
		select {
		case <-p.Done():
		case <-c.ctx.Done():
			p.Detach()
		}
		way.Close()
	})
	return p, nil
}

// largest is how much one message of an agent's may have, bytes.
const largest = 4 << 20
