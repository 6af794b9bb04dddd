package faultproxy_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc/codes"

	"rpclab/internal/cluster/faultproxy"
	"rpclab/internal/security"
	"rpclab/internal/service"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// pemOf returns a certificate and its key in PEM.
func pemOf(t *testing.T, c tls.Certificate) (certificate, key []byte) {
	t.Helper()
	secret, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// secureBackend serves HTTPS until the test ends.
func secureBackend(t *testing.T, certificate tls.Certificate, http2 bool, clients *x509.CertPool) (address string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+" "+r.TLS.ServerName)
	}))
	server.EnableHTTP2, server.TLS = http2, &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if clients != nil {
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, clients
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestAProxyReadsEncryptedCalls calls a backend by its name or its address, with HTTP/2 and HTTP/1.1, and with a
// certificate of the client.
func TestAProxyReadsEncryptedCalls(t *testing.T) {
	named, _ := testkit.Certificate(t, "shop.example")
	local, _ := testkit.Certificate(t, "127.0.0.1")
	own, clients := testkit.Certificate(t, "client")
	stranger, _ := testkit.Certificate(t, "client")
	keys, err := security.NewIssuerKeys()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(keys.Certificate))
	ca, _ := pemOf(t, named)
	localCA, _ := pemOf(t, local)
	certificate, key := pemOf(t, own)
	for name, c := range map[string]struct {
		http2   bool
		server  tls.Certificate
		clients *x509.CertPool
		service service.TLS
		given   *tls.Certificate
		host    string
		want    string // empty: the connection fails
	}{
		"HTTP/2":                {http2: true, server: named, service: service.TLS{CACert: ca}, host: "shop.example", want: "HTTP/2.0 shop.example"},
		"HTTP/1.1":              {server: named, service: service.TLS{CACert: ca}, host: "shop.example", want: "HTTP/1.1 shop.example"},
		"an address":            {http2: true, server: local, service: service.TLS{CACert: localCA}, host: "127.0.0.1", want: "HTTP/2.0 "},
		"servername":            {http2: true, server: named, service: service.TLS{CACert: ca, ServerName: "shop.example"}, host: "127.0.0.1", want: "HTTP/2.0 shop.example"},
		"another name":          {http2: true, server: named, service: service.TLS{CACert: ca}, host: "other.example"},
		"another authority":     {http2: true, server: named, service: service.TLS{CACert: localCA}, host: "shop.example"},
		"unverified":            {http2: true, server: named, service: service.TLS{Insecure: true}, host: "other.example", want: "HTTP/2.0 other.example"},
		"client certificate":    {http2: true, server: named, clients: clients, service: service.TLS{CACert: ca, Cert: certificate, Key: key}, given: &own, host: "shop.example", want: "HTTP/2.0 shop.example"},
		"no client certificate": {http2: true, server: named, clients: clients, service: service.TLS{CACert: ca, Cert: certificate, Key: key}, host: "shop.example"},
		"another client":        {http2: true, server: named, clients: clients, service: service.TLS{CACert: ca, Cert: certificate, Key: key}, given: &stranger, host: "shop.example"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy, address := proxied(t, secureBackend(t, c.server, c.http2, c.clients), &faultproxy.TLS{Issuer: keys, Service: c.service})
			config := &tls.Config{RootCAs: roots, ServerName: c.host}
			if c.given != nil {
				config.Certificates = []tls.Certificate{*c.given}
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
			defer client.CloseIdleConnections()
			get := func() (status int, body string, err error) {
				answer, err := client.Get("https://" + address)
				if err != nil {
					return 0, "", err
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				return answer.StatusCode, string(text), err
			}
			status, body, err := get()
			if c.want == "" {
				if err == nil {
					t.Errorf("the answer is %d %q, want an error", status, body)
				}
				return
			}
			if err != nil || body != c.want {
				t.Fatalf("the answer is %d %q, %v; want %q", status, body, err, c.want)
			}
			proxy.SetFault(workload.Fault{Code: codes.Unavailable})
			if status, _, err := get(); err != nil || status != 503 {
				t.Errorf("with a fault the status is %d, %v; want 503", status, err)
			}
		})
	}
}
