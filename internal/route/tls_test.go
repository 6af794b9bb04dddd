package route_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"rpclab/internal/route"
	"rpclab/internal/route/settings"
	"rpclab/internal/service"
	"rpclab/internal/testkit"
)

// inPEM encodes a certificate and its key.
func inPEM(t *testing.T, c tls.Certificate) (certificate, key []byte) {
	t.Helper()
	secret, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// TestProxyEncryptsConnectionsToBackends checks that a proxy shows its certificate and verifies those of backends.
func TestProxyEncryptsConnectionsToBackends(t *testing.T) {
	server, _ := testkit.Certificate(t, "shop.example")
	client, trusted := testkit.Certificate(t, "client")
	serverPEM, _ := inPEM(t, server)
	clientPEM, clientKey := inPEM(t, client)
	g := startGreeters(t, 2, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted})))
	right := service.TLS{CACert: serverPEM, Cert: clientPEM, Key: clientKey, ServerName: "shop.example"}
	proxies(t, func(t *testing.T, r route.Route) {
		for name, c := range map[string]struct {
			change func(*service.TLS)
			fails  bool
		}{
			"mutual":                {func(*service.TLS) {}, false},
			"another name":          {func(s *service.TLS) { s.ServerName = "other.example" }, true},
			"another authority":     {func(s *service.TLS) { s.CACert = clientPEM }, true},
			"no client certificate": {func(s *service.TLS) { s.Cert, s.Key = nil, nil }, true},
			"not verified":          {func(s *service.TLS) { s.CACert, s.ServerName, s.Insecure = nil, "", true }, false},
		} {
			t.Run(name, func(t *testing.T) {
				own := right
				c.change(&own)
				o := settings.Settings{Proxy: settings.Proxy{Workers: 1}}
				infrastructure, err := r.StartInfrastructure(t.Context(), g.service, o, route.Host{Self: g.self(), Callers: 1, TLS: &own})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := infrastructure.Close(); err != nil {
						t.Error(err)
					}
				})
				target, err := r.Open(t.Context(), infrastructure.ServiceFor(0), o, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(target.Close)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if _, err := call(ctx, openChannel(t, target)); (err != nil) != c.fails {
					t.Errorf("a call: %v; want that it fails: %t", err, c.fails)
				}
				for file, text := range infrastructure.Files {
					if strings.Contains(text, "PRIVATE KEY") {
						t.Errorf("the file %s of the result contains a key", file)
					}
				}
			})
		}
	})
}

func TestKeysOfProxiesArePrivateAndAreRemoved(t *testing.T) {
	g := startGreeters(t, 1)
	self := g.self()                      // its directory is not of this test
	dir, err := os.MkdirTemp("", "keys-") // paths of Unix sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	t.Setenv("TMPDIR", dir)
	client, _ := testkit.Certificate(t, "client")
	certificate, key := inPEM(t, client)
	r, err := route.Lookup("haproxy")
	if err != nil {
		t.Fatal(err)
	}
	infrastructure, err := r.StartInfrastructure(t.Context(), g.service, settings.Settings{Proxy: settings.Proxy{Workers: 1}}, route.Host{
		Self: self, Callers: 1, TLS: &service.TLS{CACert: certificate, Cert: certificate, Key: key, ServerName: "shop.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	err = filepath.WalkDir(os.TempDir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if !strings.Contains(string(text), "PRIVATE KEY") {
			return err
		}
		keys++
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file of a key is %v, %v; want mode 0600", info, err)
		}
		return err
	})
	if err != nil || keys != 1 {
		t.Errorf("%d files contain a key (error %v), want one", keys, err)
	}
	if err := infrastructure.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("%v is left, want nothing", left)
	}
}

func TestNamesThatProxiesCanVerify(t *testing.T) {
	for name, c := range map[string]struct {
		route string
		tls   service.TLS
		want  string
	}{
		"a host name":   {"nginx", service.TLS{ServerName: "shop.example"}, ""},
		"none":          {"envoy", service.TLS{}, "the proxy of route envoy needs the name in the backends' certificates: set tls.servername"},
		"not verified":  {"nginx", service.TLS{Insecure: true}, ""},
		"an IP address": {"haproxy", service.TLS{ServerName: "10.0.0.1"}, "the proxy of route haproxy verifies host names, and 10.0.0.1 is an IP address: set tls.servername to a host name in the backends' certificates, or use route envoy"},
		"one that can":  {"envoy", service.TLS{ServerName: "::1"}, ""},
	} {
		r, err := route.Lookup(c.route)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := r.CheckTLS(c.tls); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTheAuthorityByWhichARouteFindsAService(t *testing.T) {
	for name, c := range map[string]struct {
		route string
		call  service.Spec
		want  string
	}{
		"no authority":     {"istio-xds", service.Spec{TLS: &service.TLS{Insecure: true}}, ""},
		"another route":    {"xds", service.Spec{Authority: "shop.example"}, ""},
		"an authority":     {"istio-xds", service.Spec{Authority: "shop.example"}, "on route istio-xds the client finds the service by the authority of its calls, and authority sets another: remove authority, or use route xds or endpointslice"},
		"a name to verify": {"istio-xds", service.Spec{TLS: &service.TLS{ServerName: "shop.example"}}, "on route istio-xds the client finds the service by the authority of its calls, and tls.servername sets another: remove tls.servername, or use route xds or endpointslice"},
	} {
		r, err := route.Lookup(c.route)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := r.CheckAuthority(c.call); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
