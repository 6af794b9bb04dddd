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

const (
	// attachTimeout is how long the agent of a running pod may take to answer.
	attachTimeout = 30 * time.Second
	// requestTimeout is how long an agent may take to answer a request.
	requestTimeout = 5 * time.Second
)

// maxMessage is the largest message of an agent, in bytes.
const maxMessage = 4 << 20

// attach attaches to the program of an agent in a pod, or starts one. The connection closes
// when the program exits.
func (r *run) attach(ctx context.Context, pod string, port int, target agent.Target) (*agent.Process, error) {
	target.Token = r.token
	conn, err := r.dialAgent(pod, port)
	if err != nil {
		return nil, err
	}
	process, err := agent.Attach(ctx, conn, target)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("pod %s: %w", pod, err)
	}
	r.tasks.Go(func() {
		select {
		case <-process.Done():
		case <-r.ctx.Done():
			process.Detach()
		}
		conn.Close()
	})
	return process, nil
}

// dialAgent returns a channel to an agent in a pod, which connects at the first call.
func (r *run) dialAgent(pod string, port int) (*grpc.ClientConn, error) {
	quick := backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second}
	return grpc.NewClient("passthrough:///"+pod,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return r.api.tunnel(ctx, r.namespace, pod, port)
		}),
		// The API server's TLS protects the connection, which ends on the pod's loopback address.
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: 10 * time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(maxMessage)))
}
