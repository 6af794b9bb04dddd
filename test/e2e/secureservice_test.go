package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/testkit"
)

const secureServer = "RPCLAB_TEST_SECURE_SERVER" // the directory of its keys

// TestHelperSecureServer is no test: it is a service with mutual TLS, if an environment variable says so.
func TestHelperSecureServer(t *testing.T) {
	dir := os.Getenv(secureServer)
	if dir == "" {
		return
	}
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.pem"), filepath.Join(dir, "server-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := os.ReadFile(filepath.Join(dir, "client.pem"))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	config.ClientCAs.AppendCertsFromPEM(client)
	listener, err := net.Listen("tcp", os.Getenv("ADDRESS"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	rpclabv1.RegisterGreeterServer(server, &greeter{})
	reflection.Register(server)
	if err := server.Serve(listener); err != nil {
		t.Fatal(err)
	}
}

// writePEM writes a certificate and its key, which only the user may read.
func writePEM(t *testing.T, dir, name string, c tls.Certificate) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".pem":     {Type: "CERTIFICATE", Bytes: c.Certificate[0]},
		name + "-key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A proxy between encrypted connections slows down calls of a service with mutual TLS, and makes them fail.
func TestABackendWithMutualTLSIsSlowAndFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, _ := testkit.Certificate(t, "shop.example")
	client, _ := testkit.Certificate(t, "client")
	writePEM(t, dir, "server", server)
	writePEM(t, dir, "client", client)
	file := filepath.Join(dir, "faults.yaml")
	write := func(ca string) {
		t.Helper()
		text := `experiment: faults
question: What does a slow backend cost, and what one that fails?
services:
  shop:
    server: {command: ["` + os.Args[0] + `", "-test.run=^TestHelperSecureServer$"], env: {` + secureServer + `: "` + dir + `", ADDRESS: "{{.Address}}"}, replicas: 2}
    calls: {hello: {method: rpclab.v1.Greeter/SayHello, data: {name: x}}}
    tls: {cacert: ` + ca + `, cert: client.pem, key: client-key.pem, servername: shop.example}
    identity: {header: x-state}
defaults: {service: shop, workload: {call: hello}, load: {open: {rate: 100, duration: 3s}}}
arms: {grpc-go: {route: endpointslice}, wire: {route: clusterip, caller: {kind: wire}}}
events:
  - {at: 300ms, slow: {backends: 2, by: 400ms}}
  - {at: 1s, recover: true}
  - {at: 1500ms, fail: {backends: 2, code: RESOURCE_EXHAUSTED, share: 50 %}}
rounds: 1
`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("server.pem")
	d, _ := document(t, file, "--rounds", "1")
	for _, a := range d.Arms {
		for state := range a.Backends {
			if !strings.HasPrefix(state, "cold ") {
				t.Errorf("arm %s: the backends are %v, want only cold ones: the calls that measured the proxy's cost went to another", a.Name, a.Backends)
			}
		}
		failed := a.Errors["RESOURCE_EXHAUSTED"]
		if failed < 30 || failed > 120 || failed != a.Failed() { // about half of 150
			t.Errorf("arm %s: the errors are %v %v, want RESOURCE_EXHAUSTED for about 75 calls", a.Name, a.Errors, a.Samples)
		}
		if a.Service.P90 < 400 { // about 70 of 225 answered calls were slowed down
			t.Errorf("arm %s: the p90 of answered calls is %v ms, want at least 400", a.Name, a.Service.P90)
		}
	}
	if len(d.FaultProxies) != 1 || d.FaultProxies[0].Unknown != "" || *d.FaultProxies[0].CPU <= 0 {
		t.Errorf("the costs of the fault proxy are %+v, want those of shop", d.FaultProxies)
	}
	write("client.pem")
	refused := rpclab(t, "run", file, "--rounds", "1")
	if refused.code != 2 || !strings.Contains(refused.stderr, "certificate signed by unknown authority") {
		t.Errorf("with another authority: exit code %d\n%s%s\nwant that the certificate is not trusted", refused.code, refused.stdout, refused.stderr)
	}
}

// greeter says in a header which backend it is, and whether it is warm: whether it has answered more calls than a trial makes.
type greeter struct {
	rpclabv1.UnimplementedGreeterServer
	calls atomic.Uint64
}

// SayHello implements the service.
func (g *greeter) SayHello(ctx context.Context, request *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	state := "cold"
	if g.calls.Add(1) > 500 {
		state = "warm"
	}
	if err := grpc.SetHeader(ctx, metadata.Pairs("x-state", state+" "+os.Getenv("ADDRESS"))); err != nil {
		return nil, err
	}
	return &rpclabv1.HelloReply{Message: "Hello, " + request.Name}, nil
}
