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

// guard makes the server's guard: of the party that it was given, or of nobody.
func (s *Server) newGuard(ctx context.Context) (*security.Guard, error) {
	if s.Secure == nil {
		return security.NewGuard(security.Party{})
	}
	select {
	case party := <-s.Secure:
		return security.NewGuard(party)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// secured are the options of a server that encrypts.
//
// A kubelet's probe knows no TLS, and needs no secret: health is answered in clear text, too,
// on the same port. A connection in clear text that asks for anything else is turned away.
func secured(g *security.Guard) []grpc.ServerOption {
	if g.Transport() == nil {
		return nil
	}
	return []grpc.ServerOption{
		grpc.Creds(&either{TransportCredentials: g.Transport()}),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := inClear(ctx, g, info.FullMethod); err != nil {
				return nil, err
			}
			return next(ctx, request)
		}),
		grpc.ChainStreamInterceptor(func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := inClear(stream.Context(), g, info.FullMethod); err != nil {
				return err
			}
			return next(service, stream)
		}),
	}
}

// either are server credentials that take TLS, and clear text as such.
type either struct {
	credentials.TransportCredentials
}

// tlsHandshake is the first byte of a record with a handshake (RFC 8446, 5.1), with which no
// HTTP/2 begins.
const tlsHandshake = 22

// ServerHandshake implements [credentials.TransportCredentials].
func (e *either) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
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

// peekedConn is a connection whose first bytes were looked at.
type peekedConn struct {
	net.Conn
	in *bufio.Reader
}

// Read implements [net.Conn].
func (c *peekedConn) Read(into []byte) (int, error) { return c.in.Read(into) }

// inClear turns a call away that is not encrypted, other than for health.
func inClear(ctx context.Context, g *security.Guard, method string) error {
	p, ok := peer.FromContext(ctx)
	if ok && credentials.CheckSecurityLevel(p.AuthInfo, credentials.PrivacyAndIntegrity) == nil || strings.HasPrefix(method, "/grpc.health.") {
		return nil
	}
	g.Refuse(security.NoEncryption)
	return security.Refusal{Reason: security.NoEncryption, Err: errors.New("this server takes calls over TLS alone")}
}

// refusals count for Prometheus those whom a guard turned away.
func refusals(g *security.Guard) (all []prometheus.Collector) {
	for _, reason := range security.Reasons {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "rpclab_refused_total", Help: "Calls and connections that were turned away.",
			ConstLabels: prometheus.Labels{"reason": string(reason)},
		}, func() float64 { return float64(g.Refused(reason)) }))
	}
	return all
}
