package load

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// listening accepts connections and does with each what it is told, until the test ends.
func listening(t *testing.T, do func(net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			do(connection)
			_ = connection.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-ended })
	return listener.Addr().String()
}

// Every engine reports them, and so does server reflection.
func TestConnectErrorsContainAHint(t *testing.T) {
	config, cert, key := mutual(t)
	secure := listening(t, func(c net.Conn) { _ = tls.Server(c, config).Handshake() })
	hangsUp := listening(t, func(c net.Conn) { _, _ = io.ReadFull(c, make([]byte, 24)) })
	known := TLS{CACert: cert, Cert: cert, Key: key}
	for _, c := range []struct {
		want   string
		target string
		tls    TLS
	}{
		{"connection refused: no server listens there", "127.0.0.1:1", TLS{}},
		{"lookup nobody.invalid", "nobody.invalid:50051", TLS{}},
		{"the server closed the connection; it may require --tls", hangsUp, TLS{}},
		{"unknown authority: trust its authority with --cacert FILE", secure, TLS{On: true, ServerName: "localhost"}},
		{"set a name in the certificate with --servername", secure, TLS{CACert: cert, Cert: cert, Key: key, ServerName: "elsewhere"}},
		{"does not use TLS; leave out --tls", greeter(t), known},
	} {
		for name, change := range map[string]func(*Settings){
			"wire":       func(s *Settings) { s.Proto = "../../api/rpclab/v1/greeter.proto" },
			"reflection": func(*Settings) {},
			"grpc-go": func(s *Settings) {
				s.Proto, s.Engine = "../../api/rpclab/v1/greeter.proto", GRPCGo
			},
		} {
			s := settings()
			s.Target, s.TLS = c.target, c.tls
			change(&s)
			start := "cannot connect to " + c.target + ": "
			if _, err := Open(t.Context(), s); err == nil || !strings.HasPrefix(err.Error(), start) ||
				!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "rpc error") || errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %q was wanted: %v", name, c.want, err)
			}
		}
	}
}

func TestAnInterruptWhileConnectingIsRecognizable(t *testing.T) {
	silent := listening(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	for _, engine := range []string{Wire, GRPCGo} {
		s := settings()
		s.Engine, s.Target, s.Proto = engine, silent, "../../api/rpclab/v1/greeter.proto"
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("interrupt signal received")) })
		if _, err := Open(ctx, s); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", engine, err)
		}
	}
}
