package load

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// certificate is one that signs itself, for localhost, in files.
func certificate(t *testing.T) (cert, key string, pair tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"localhost"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err = tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, pair
}

// mutual is a server's configuration that asks clients for a certificate too.
func mutual(t *testing.T) (config *tls.Config, cert, key string) {
	t.Helper()
	cert, key, pair := certificate(t)
	trusted := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	if err != nil || !trusted.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert}, cert, key
}

func TestCallsOverMutualTLS(t *testing.T) {
	config, cert, key := mutual(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	rpclabv1.RegisterGreeterServer(server, &picky{names: map[string]int{}})
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	for _, engine := range []string{Wire, GRPCGo} {
		s := settings()
		s.Engine, s.Target, s.Calls = engine, listener.Addr().String(), 20
		s.TLS = TLS{CACert: cert, Cert: cert, Key: key, ServerName: "localhost"}
		if a := run(t, s).Arms[0]; a.Calls != 20 || len(a.Errors) > 0 || a.Config["tls"] != true {
			t.Errorf("%s: %d calls, errors %v, %v", engine, a.Calls, a.Errors, a.Samples)
		}
		s.TLS = TLS{CACert: cert, Cert: cert, Key: key, ServerName: "elsewhere"}
		if _, err := Open(t.Context(), s); err == nil || !strings.Contains(err.Error(), "certificate is valid for localhost, not elsewhere") {
			t.Errorf("%s, another name: %v", engine, err)
		}
		s.TLS = TLS{Insecure: true, Cert: cert, Key: key}
		if a := run(t, s).Arms[0]; a.Calls != 20 || len(a.Errors) > 0 {
			t.Errorf("%s, unchecked: %d calls, errors %v", engine, a.Calls, a.Errors)
		}
	}
}

func TestRESTCallsOverMutualTLS(t *testing.T) {
	config, cert, key := mutual(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) != 1 || r.ProtoMajor != 2 {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	server.EnableHTTP2 = true
	server.TLS = config
	server.StartTLS()
	defer server.Close()
	s := Settings{
		Target: server.URL, HTTP: "GET", Calls: 20, Concurrency: 4, MaxInFlight: 1, Timeout: 5 * time.Second,
		TLS: TLS{CACert: cert, Cert: cert, Key: key, ServerName: "localhost"},
	}
	if a := run(t, s).Arms[0]; a.Calls != 20 || len(a.Errors) > 0 {
		t.Errorf("%d calls, errors %v, %v", a.Calls, a.Errors, a.Samples)
	}
}
