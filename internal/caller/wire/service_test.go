package wire_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/caller/nethttp"
	"rpclab/internal/caller/wire"
	"rpclab/internal/pace"
	"rpclab/internal/service"
	methods "rpclab/internal/service/method"
	"rpclab/internal/testkit"
)

type stranger struct {
	rpclabv1.UnimplementedGreeterServer
}

func (stranger) SayHello(_ context.Context, r *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	return &rpclabv1.HelloReply{Message: "Hello, " + r.Name}, nil
}

// mutualTLS returns the configuration of a server that wants a client certificate, and that of its clients.
func mutualTLS(t *testing.T) (server *tls.Config, client *service.TLS) {
	t.Helper()
	own, _ := testkit.Certificate(t, "shop.test")
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]})
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(cert)
	return &tls.Config{Certificates: []tls.Certificate{own}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert},
		&service.TLS{CACert: cert, Cert: cert, Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), ServerName: "shop.test"}
}

// TestTheAuthorityIsTheNameInTheCertificate: calls go to an IP address, and the certificate has a name.
func TestTheAuthorityIsTheNameInTheCertificate(t *testing.T) {
	own, _ := testkit.Certificate(t, "shop.test")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{own}})))
	rpclabv1.RegisterGreeterServer(server, stranger{})
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	web.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	t.Cleanup(web.Close)
	method := service.Spec{Name: "hello", Method: "rpclab.v1.Greeter/SayHello"}
	source, err := grpcgo.Describe(t.Context(), service.Spec{Method: method.Method, TLS: &service.TLS{Insecure: true}}, caller.Target{URI: "passthrough:///" + listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if method.Protos, err = methods.Descriptors(source); err != nil {
		t.Fatal(err)
	}
	request := service.Spec{Name: "hello", HTTP: "GET", Path: "/"}
	for name, c := range map[string]struct {
		library caller.Caller
		spec    service.Spec
		address string
	}{
		"grpc-go": {grpcgo.Caller{}, method, listener.Addr().String()},
		"wire":    {wire.Caller{}, method, listener.Addr().String()},
		"http":    {nethttp.Caller{}, request, web.Listener.Addr().String()},
	} {
		for _, names := range []struct {
			authority, server string
			right             bool
		}{{"shop.test", "", true}, {"shop.test:443", "", true}, {"shop.test:443", "shop.test", true}, {"", "shop.test", true}, {"other.test", "", false}} {
			t.Run(name+" "+names.authority+" "+names.server, func(t *testing.T) {
				spec := c.spec
				spec.Authority, spec.TLS = names.authority, &service.TLS{CACert: cert, ServerName: names.server}
				job := caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: 2 * time.Second, Calls: []service.Spec{spec}}
				session := callertest.Open(t, c.library, job, caller.Target{URI: "passthrough:///" + c.address, Close: func() {}})
				if m := callertest.Load(t, session, pace.Burst{Calls: 2}); (m.Calls == 2 && len(m.Errors) == 0) != names.right {
					t.Errorf("%d calls, errors %v %v; want them to succeed: %v", m.Calls, m.Errors, m.Samples, names.right)
				}
			})
		}
	}
}

// TestCallersCallAServiceOverMutualTLS calls servers that know nothing of rpclab. The backend is their
// address.
func TestCallersCallAServiceOverMutualTLS(t *testing.T) {
	required, own := mutualTLS(t)
	listen := func() net.Listener {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return listener
	}
	overGRPC := listen()
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(required)))
	rpclabv1.RegisterGreeterServer(server, stranger{})
	reflection.Register(server)
	go func() { _ = server.Serve(overGRPC) }()
	t.Cleanup(server.Stop)
	overHTTP := listen()
	web := &http.Server{TLSConfig: required, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "Hello, "+r.URL.Query().Get("name"))
	})}
	go func() { _ = web.ServeTLS(overHTTP, "", "") }()
	t.Cleanup(func() { _ = web.Close() })

	method := service.Spec{Name: "hello", Method: "rpclab.v1.Greeter/SayHello", Data: `{"name": "{{.Number}}"}`, Check: `answer.message.startsWith("Hello, ")`}
	request := service.Spec{Name: "hello", HTTP: "GET", Path: "/?name={{.Number}}", Check: `answer.startsWith("Hello, ")`}
	for name, c := range map[string]struct {
		library caller.Caller
		spec    service.Spec
		address net.Addr
	}{
		"grpc-go": {grpcgo.Caller{}, method, overGRPC.Addr()},
		"wire":    {wire.Caller{}, method, overGRPC.Addr()},
		"http":    {nethttp.Caller{}, request, overHTTP.Addr()},
	} {
		t.Run(name, func(t *testing.T) {
			for _, secured := range []*service.TLS{own, {CACert: own.CACert, ServerName: "shop.test"}} {
				if secured != own && c.spec.HTTP == "" { // to ask for the method without a certificate would wait for a server that answers
					c.spec.Protos = described(t, c.spec, c.address.String())
				}
				c.spec.TLS = secured
				job := caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: 10 * time.Second, Calls: []service.Spec{c.spec}}
				session, err := c.library.Open(job, caller.Target{URI: "passthrough:///" + c.address.String(), Close: func() {}})
				if err != nil {
					t.Fatal(err)
				}
				m := callertest.Load(t, session, pace.Burst{Calls: 20})
				if answered := m.Backends[c.address.String()]; secured == own && (answered != 20 || len(m.Errors) > 0) || secured != own && answered > 0 {
					t.Errorf("certificate %v: %v answered, errors %v, %v", secured == own, m.Backends, m.Errors, m.Samples)
				}
				if err := session.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
