package load

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// authorities counts calls by their :authority or Host header.
type authorities struct {
	mu     sync.Mutex
	counts map[string]int
}

func (a *authorities) add(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil {
		a.counts = map[string]int{}
	}
	a.counts[name]++
}

// only returns the name of all calls since the last use.
func (a *authorities) only(t *testing.T) (name string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.counts) != 1 {
		t.Errorf("the calls have the authorities %v, want one", a.counts)
	}
	for name = range a.counts {
	}
	a.counts = nil
	return name
}

// unary is a server interceptor.
func (a *authorities) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	a.add(strings.Join(metadata.ValueFromIncomingContext(ctx, ":authority"), " "))
	return handle(ctx, request)
}

// stream is a server interceptor. It sees server reflection too.
func (a *authorities) stream(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	a.add(strings.Join(metadata.ValueFromIncomingContext(stream.Context(), ":authority"), " "))
	return handle(service, stream)
}

func TestAuthorityOfCalls(t *testing.T) {
	seen := new(authorities)
	serve := func(options ...grpc.ServerOption) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer(append(options, grpc.UnaryInterceptor(seen.unary), grpc.StreamInterceptor(seen.stream))...)
		rpclabv1.RegisterGreeterServer(server, &strictGreeter{names: map[string]int{}})
		reflection.Register(server)
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		return listener.Addr().String()
	}
	config, cert, key := mutual(t) // for localhost
	plain, secure := serve(), serve(grpc.Creds(credentials.NewTLS(config)))
	for _, engine := range []string{Wire, GRPCGo} {
		for _, c := range []struct {
			target, authority string
			tls               TLS
			want              string
		}{
			{plain, "", TLS{}, plain},
			{plain, "shop.example", TLS{}, "shop.example"},
			{plain, "shop.example:443", TLS{}, "shop.example:443"},
			{secure, "", TLS{CACert: cert, Cert: cert, Key: key, ServerName: "localhost"}, "localhost"},
			{secure, "localhost:443", TLS{CACert: cert, Cert: cert, Key: key}, "localhost:443"},
			{secure, "", TLS{Insecure: true, Cert: cert, Key: key}, secure},
		} {
			settings := validSettings()
			settings.Engine, settings.Target, settings.Calls, settings.Authority, settings.TLS = engine, c.target, 5, c.authority, c.tls
			arm := run(t, settings).Arms[0]
			if got := seen.only(t); got != c.want || arm.Calls != 5 || len(arm.Errors) > 0 {
				t.Errorf("%s: --authority %q, TLS %+v: the authority is %q, want %q; %d calls, errors %v", engine, c.authority, c.tls, got, c.want, arm.Calls, arm.Samples)
			}
			if named, _ := arm.Config["authority"].(string); named != "" && named != c.want || named == "" && c.want != c.target {
				t.Errorf("%s: the document says authority %q, want %q, or none for the target", engine, named, c.want)
			}
		}
	}
}

func TestHostOfRESTCalls(t *testing.T) {
	plain, secure := newSite(t, false), newSite(t, true) // the certificate is for example.com and 127.0.0.1
	file := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		site              *site
		authority, header string
		http2             bool
		serverName, want  string
	}{
		{plain, "", "", false, "", plain.Listener.Addr().String()},
		{plain, "shop.example", "", false, "", "shop.example"},
		{plain, "shop.example:81", "", true, "", "shop.example:81"},
		{plain, "", "Host: shop.example", false, "", "shop.example"},
		{secure, "example.com", "", true, "", "example.com"},
		{secure, "", "", false, "example.com", "example.com"},
		{secure, "", "Host: shop.example", true, "", "shop.example"},
	} {
		settings := Settings{Target: fmt.Sprintf("%s/%d", c.site.URL, i), HTTP: "GET", HTTP2: c.http2, MaxInFlight: 1, Timeout: time.Minute, Calls: 5, Concurrency: 1, Authority: c.authority}
		if c.site == secure {
			settings.TLS = TLS{CACert: file, ServerName: c.serverName}
		}
		if c.header != "" {
			settings.Metadata = []string{c.header}
		}
		arm := run(t, settings).Arms[0]
		request := fmt.Sprintf("HTTP/1.1 GET %s /%d  ", c.want, i)
		if c.http2 {
			request = fmt.Sprintf("HTTP/2.0 GET %s /%d  ", c.want, i)
		}
		if got := c.site.seen(); got[request] != 5 || len(arm.Errors) > 0 {
			t.Errorf("--authority %q, -H %q, --servername %q: the requests are %v, want 5 of %q; errors %v", c.authority, c.header, c.serverName, got, request, arm.Samples)
		}
	}
}

func TestInvalidAuthoritiesAreRejected(t *testing.T) {
	for want, settings := range map[string]Settings{
		`--authority "a b" is not a name`:         with(func(s *Settings) { s.Authority = "a b" }),
		`--authority "http://a" is not a name`:    with(func(s *Settings) { s.Authority = "http://a" }),
		"--authority a and --servername b differ": with(func(s *Settings) { s.Authority, s.TLS.ServerName = "a", "b" }),
		`leave out --metadata "Host: b"`:          {Target: "http://127.0.0.1:1/", HTTP: "GET", MaxInFlight: 1, Timeout: time.Minute, Authority: "a", Metadata: []string{"Host: b"}},
	} {
		if _, err := Open(t.Context(), settings); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrInvalid) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
