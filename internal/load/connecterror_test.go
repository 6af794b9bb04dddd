package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// listen accepts connections until the test ends. It calls do with each connection, then closes it.
func listen(t *testing.T, do func(net.Conn)) (address string) {
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

// Both engines and server reflection report connect errors.
func TestConnectErrorsContainAHint(t *testing.T) {
	config, cert, key := mutual(t)
	secure := listen(t, func(conn net.Conn) { _ = tls.Server(conn, config).Handshake() })
	closing := listen(t, func(conn net.Conn) { _, _ = io.ReadFull(conn, make([]byte, 24)) })
	rest := listen(t, func(conn net.Conn) {
		_, _ = io.ReadFull(conn, make([]byte, 24))
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
	})
	page := listen(t, func(conn net.Conn) {
		_, _ = io.ReadFull(conn, make([]byte, 24))
		_, _ = io.WriteString(conn, "<!DOCTYPE HTML><html><body>Invalid HTTP version (2.0)</body></html>")
	})
	known := TLS{CACert: cert, Cert: cert, Key: key}
	for _, test := range []struct {
		want   string
		target string
		tls    TLS
	}{
		{"connection refused: no server listens there", "127.0.0.1:1", TLS{}},
		{"lookup nobody.invalid", "nobody.invalid:50051", TLS{}},
		{"the server closed the connection; it may require --tls", closing, TLS{}},
		{"the server does not speak HTTP/2, which gRPC needs: use another port, add --tls if this one requires TLS", rest, TLS{}},
		{"the server does not speak HTTP/2, which gRPC needs", page, TLS{}},
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
			settings := validSettings()
			settings.Target, settings.TLS = test.target, test.tls
			change(&settings)
			start := "cannot connect to " + test.target + ": "
			if _, err := Open(t.Context(), settings); err == nil || !strings.HasPrefix(err.Error(), start) ||
				!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "rpc error") || errors.Is(err, ErrInvalid) {
				t.Errorf("%s: the error is %v, want one that starts with %q and contains %q", name, err, start, test.want)
			}
		}
	}
}

// A server that accepts connections and then says nothing is waited for as long as for a call.
func TestASilentServerIsReportedWithTheTimeAndAHint(t *testing.T) {
	silent := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	for want, security := range map[string]TLS{
		"no answer within 1s: TCP connected, but the server sent no HTTP/2 settings: check that": {},
		"no answer within 1s: TCP connected, but the server made no TLS handshake: check that":   {On: true},
	} {
		for name, change := range map[string]func(*Settings){
			"wire": func(*Settings) {}, "grpc-go": func(s *Settings) { s.Engine = GRPCGo }, "reflection": func(s *Settings) { s.Proto = "" },
			"a connection for each call": func(s *Settings) { s.PerCall = true },
		} {
			t.Run(fmt.Sprintf("%s, TLS %v", name, security.On), func(t *testing.T) {
				t.Parallel()
				settings := validSettings()
				settings.Target, settings.TLS, settings.Proto, settings.Timeout = silent, security, "../../api/rpclab/v1/greeter.proto", time.Second
				change(&settings)
				began := time.Now()
				_, err := Open(t.Context(), settings)
				if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "cannot connect to "+silent+": "+want) || took >= connectTimeout {
					t.Errorf("the error is %v after %v, want %q", err, took, want)
				}
			})
		}
	}
}

func TestAnInterruptWhileConnectingReturnsContextCanceled(t *testing.T) {
	silent := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	for _, engine := range []string{Wire, GRPCGo} {
		settings := validSettings()
		settings.Engine, settings.Target, settings.Proto = engine, silent, "../../api/rpclab/v1/greeter.proto"
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("interrupt signal received")) })
		if _, err := Open(ctx, settings); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the error is %v, want %v", engine, err, context.Canceled)
		}
	}
}

// A client certificate that is missing, one that the server rejects, and a server without HTTP/2 over
// TLS are different errors.
func TestTLSErrorsNameTheirCause(t *testing.T) {
	config, cert, key := mutual(t)
	_, otherCert, otherKey := mutual(t) // of another authority
	serve := func(version uint16, protocols ...string) string {
		config := config.Clone()
		config.MaxVersion, config.NextProtos = version, protocols
		return listen(t, func(conn net.Conn) {
			secure := tls.Server(conn, config)
			if secure.Handshake() == nil {
				_, _ = io.Copy(io.Discard, secure)
			}
		})
	}
	for _, test := range []struct {
		want, target string
		tls          TLS
	}{
		{"the server requires a client certificate: set --cert FILE and --key FILE", serve(tls.VersionTLS13, "h2"), TLS{CACert: cert, ServerName: "localhost"}},
		{"the server requires a client certificate: set --cert FILE and --key FILE", serve(tls.VersionTLS12, "h2"), TLS{CACert: cert, ServerName: "localhost"}},
		{"the server rejects the client certificate of --cert", serve(tls.VersionTLS13, "h2"), TLS{CACert: cert, ServerName: "localhost", Cert: otherCert, Key: otherKey}},
		{"the server rejects the client certificate of --cert", serve(tls.VersionTLS12, "h2"), TLS{CACert: cert, ServerName: "localhost", Cert: otherCert, Key: otherKey}},
		{"the server does not offer h2 (HTTP/2) by ALPN", serve(tls.VersionTLS13), TLS{CACert: cert, ServerName: "localhost", Cert: cert, Key: key}},
		{"the server does not offer h2 (HTTP/2) by ALPN", serve(tls.VersionTLS13, "http/1.1"), TLS{CACert: cert, ServerName: "localhost", Cert: cert, Key: key}},
	} {
		for name, change := range map[string]func(*Settings){
			"wire": func(*Settings) {}, "grpc-go": func(s *Settings) { s.Engine = GRPCGo }, "a connection for each call": func(s *Settings) { s.PerCall = true },
		} {
			settings := validSettings()
			settings.Target, settings.TLS, settings.Proto = test.target, test.tls, "../../api/rpclab/v1/greeter.proto"
			change(&settings)
			if _, err := Open(t.Context(), settings); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: the error is %v, want %q", name, err, test.want)
			}
		}
	}
}

// The texts are those of the library.
func TestInvalidCertificatesOfServersHaveAHint(t *testing.T) {
	named := &x509.Certificate{DNSNames: []string{"shop.example"}}
	for want, err := range map[string]error{
		"set a name in the certificate with --servername NAME": x509.HostnameError{Certificate: named, Host: "elsewhere"},
		"the certificate names no host":                        x509.HostnameError{Certificate: &x509.Certificate{}, Host: "elsewhere"},
		"renew the certificate of the server":                  x509.CertificateInvalidError{Cert: named, Reason: x509.Expired},
		"trust its authority with --cacert FILE":               x509.UnknownAuthorityError{Cert: named},
	} {
		if got := new(endpoint).hint("tls: failed to verify certificate: " + err.Error()); !strings.HasPrefix(got, want) {
			t.Errorf("%v: the hint is %q, want %q", err, got, want)
		}
	}
}
