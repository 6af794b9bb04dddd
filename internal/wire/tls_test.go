package wire_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // the server can compress
	"google.golang.org/grpc/metadata"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/pace"
	"rpclab/internal/testkit"
	"rpclab/internal/wire"
	"rpclab/internal/workload"
)

// plainGreeter answers as the workload does, by a server with options of its own.
type plainGreeter struct {
	rpclabv1.UnimplementedGreeterServer
	compress bool
}

func (g plainGreeter) SayHello(ctx context.Context, r *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	if g.compress {
		if err := grpc.SetSendCompressor(ctx, "gzip"); err != nil {
			return nil, err
		}
	}
	if err := grpc.SetTrailer(ctx, metadata.Pairs(workload.BackendTrailer, "b1")); err != nil {
		return nil, err
	}
	return &rpclabv1.HelloReply{Message: "Hello, " + r.Name, Backend: "b1"}, nil
}

func servePlain(t *testing.T, g plainGreeter, options ...grpc.ServerOption) (addr string) {
	t.Helper()
	server := grpc.NewServer(options...)
	rpclabv1.RegisterGreeterServer(server, g)
	return sessionStream(t, server)
}

// sessionStream serves until the test ends.
func sessionStream(t *testing.T, server *grpc.Server) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func TestCallsOverMutualTLS(t *testing.T) {
	mine, trusted := testkit.Certificate(t, "127.0.0.1")
	addr := servePlain(t, plainGreeter{}, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{mine}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert,
	})))
	e := engine(t, wire.Config{
		Addresses: []string{addr}, Channels: 3,
		TLS: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{mine}},
	}, greet(t))
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls := testkit.ReducedUnderRace(5000)
	for _, p := range []pace.Pace{pace.Closed{Users: 30, Calls: uint64(calls)}, pace.Burst{Calls: calls}} {
		if m := load(t, e, p); m.Backends["b1"] != uint64(calls) {
			t.Errorf("%v, errors %v %v", m.Backends, m.Errors, m.Samples)
		}
	}
}

func TestTLSErrorsContainTheCause(t *testing.T) {
	mine, _ := testkit.Certificate(t, "127.0.0.1")
	_, others := testkit.Certificate(t, "127.0.0.1")
	addr := servePlain(t, plainGreeter{}, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{mine}})))
	clear, _ := greeter(t, "b1", 0)
	for what, c := range map[string]struct {
		addr string
		tls  *tls.Config
		want string
	}{
		"a certificate that nobody trusts": {addr, &tls.Config{RootCAs: others}, "certificate"},
		"TLS to a server without":          {clear, &tls.Config{RootCAs: others}, "TLS: "},
		"no TLS to a server with":          {addr, nil, "connect"},
	} {
		t.Run(what, func(t *testing.T) {
			e := engine(t, wire.Config{Addresses: []string{c.addr}, TLS: c.tls, ConnectTimeout: 5 * time.Second}, greet(t))
			if err := e.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestCompressedResponsesAreRead(t *testing.T) {
	addr := servePlain(t, plainGreeter{compress: true})
	e := engine(t, wire.Config{Addresses: []string{addr}}, greet(t))
	if m := load(t, e, pace.Closed{Users: 3, Calls: 300}); m.Backends["b1"] != 300 {
		t.Errorf("%v, errors %v %v", m.Backends, m.Errors, m.Samples)
	}
}
