package workload

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	"rpclab/internal/security"
)

// newGuard returns the guard of the server's security configuration. It waits until the server
// receives the configuration.
func (s *Server) newGuard(ctx context.Context) (*security.Guard, error) {
	if s.Security == nil {
		return security.NewGuard(security.Config{})
	}
	select {
	case config := <-s.Security:
		return security.NewGuard(config)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// securityOptions returns the options of a server with TLS.
//
// Kubelet probes do not use TLS, so health checks are answered in clear text too, on the same
// port. Other calls in clear text are rejected.
func securityOptions(guard *security.Guard) []grpc.ServerOption {
	if guard.Transport() == nil {
		return nil
	}
	return []grpc.ServerOption{
		grpc.Creds(&tlsOrPlaintext{TransportCredentials: guard.Transport()}),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := checkEncrypted(ctx, guard, info.FullMethod); err != nil {
				return nil, err
			}
			return next(ctx, request)
		}),
		grpc.ChainStreamInterceptor(func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := checkEncrypted(stream.Context(), guard, info.FullMethod); err != nil {
				return err
			}
			return next(service, stream)
		}),
	}
}

// tlsOrPlaintext are server credentials that accept TLS and clear text.
type tlsOrPlaintext struct {
	credentials.TransportCredentials
}

// tlsHandshake is the first byte of a TLS handshake record (RFC 8446, section 5.1); HTTP/2 never
// begins with it.
const tlsHandshake = 22

// ServerHandshake implements [credentials.TransportCredentials].
func (e *tlsOrPlaintext) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	peeked := &peekedConn{Conn: conn, in: bufio.NewReader(conn)}
	first, err := peeked.in.Peek(1)
	switch {
	case err != nil:
		return nil, nil, errors.Join(err, conn.Close())
	case first[0] == tlsHandshake:
		return e.TransportCredentials.ServerHandshake(peeked)
	}
	return insecure.NewCredentials().ServerHandshake(peeked)
}

// peekedConn is a connection whose first byte was read ahead.
type peekedConn struct {
	net.Conn
	in *bufio.Reader
}

// Read implements [net.Conn].
func (c *peekedConn) Read(into []byte) (int, error) { return c.in.Read(into) }

// checkEncrypted rejects a call in clear text, except health checks.
func checkEncrypted(ctx context.Context, guard *security.Guard, method string) error {
	client, ok := peer.FromContext(ctx)
	if ok && credentials.CheckSecurityLevel(client.AuthInfo, credentials.PrivacyAndIntegrity) == nil || strings.HasPrefix(method, "/grpc.health.") {
		return nil
	}
	guard.CountRejected(security.NoEncryption)
	return security.Rejection{Reason: security.NoEncryption, Err: errors.New("this server accepts calls over TLS only")}
}

// rejectionCollectors export the guard's counts of rejected calls and connections.
func rejectionCollectors(guard *security.Guard) (all []prometheus.Collector) {
	for _, reason := range security.Reasons {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "rpclab_refused_total", Help: "Calls and connections that were rejected.",
			ConstLabels: prometheus.Labels{"reason": string(reason)},
		}, func() float64 { return float64(guard.Rejected(reason)) }))
	}
	return all
}
