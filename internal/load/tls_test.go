package load

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/testkit"
)

// mutual returns the configuration of a server for localhost that requires a client certificate,
// and the files of a client certificate that the server accepts.
func mutual(t *testing.T) (config *tls.Config, cert, key string) {
	t.Helper()
	pair, trusted := testkit.Certificate(t, "localhost")
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
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
	rpclabv1.RegisterGreeterServer(server, &strictGreeter{names: map[string]int{}})
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	for _, engine := range []string{Wire, GRPCGo} {
		settings := validSettings()
		settings.Engine, settings.Target, settings.Calls = engine, listener.Addr().String(), 20
		settings.TLS = TLS{CACert: cert, Cert: cert, Key: key, ServerName: "localhost"}
		if a := run(t, settings).Arms[0]; a.Calls != 20 || len(a.Errors) > 0 || a.Config["tls"] != true {
			t.Errorf("%s: %d calls, errors %v %v; want 20 calls without errors, marked as TLS", engine, a.Calls, a.Errors, a.Samples)
		}
		settings.TLS = TLS{CACert: cert, Cert: cert, Key: key, ServerName: "elsewhere"}
		if _, err := Open(t.Context(), settings); err == nil || !strings.Contains(err.Error(), "certificate is valid for localhost, not elsewhere") {
			t.Errorf("%s, another server name: the error is %v, want one that names localhost", engine, err)
		}
		settings.TLS = TLS{Insecure: true, Cert: cert, Key: key}
		if a := run(t, settings).Arms[0]; a.Calls != 20 || len(a.Errors) > 0 {
			t.Errorf("%s, without certificate check: %d calls, errors %v; want 20 calls without errors", engine, a.Calls, a.Errors)
		}
	}
}
