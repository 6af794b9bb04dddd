package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
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

// secureShop writes the keys of a service with mutual TLS, and returns its mapping in YAML.
func secureShop(t *testing.T, dir string) string {
	t.Helper()
	server, _ := testkit.Certificate(t, "shop.example")
	client, _ := testkit.Certificate(t, "client")
	writePEM(t, dir, "server", server)
	writePEM(t, dir, "client", client)
	return `
server: {command: ["` + os.Args[0] + `", "-test.run=^TestHelperSecureServer$"], env: {` + secureServer + `: "` + dir + `", ADDRESS: "{{.Address}}"}, replicas: 3}
calls: {hello: {method: rpclab.v1.Greeter/SayHello, data: {name: x}}}
tls: {cacert: server.pem, cert: client.pem, key: client-key.pem, servername: shop.example}
`
}

// TestAServiceWithTLSIsCalledThroughEveryProxy checks that proxies encrypt the connections to backends, with mutual TLS
// for gRPC, that rpclab knows which backend answered, and that the result contains no key.
func TestAServiceWithTLSIsCalledThroughEveryProxy(t *testing.T) {
	t.Parallel()
	dir := httpFiles(t, map[string]string{"server.py": httpServer})
	shop := strings.ReplaceAll(secureShop(t, dir), "\n", "\n    ")
	file := filepath.Join(dir, "proxies.yaml")
	text := `experiment: proxies
question: Does each proxy encrypt its connections to the backends?
services:
  shop:` + shop + `
  orders:
    server: {command: [python3, server.py, "{{.Address}}", server.pem, server-key.pem], replicas: 3}
    calls: {list: {http: GET, path: "/orders?customer={{.Number}}", check: "status == 200 && size(answer.orders) == 2"}}
    tls: {cacert: server.pem, servername: shop.example}
defaults: {service: shop, workload: {call: hello}, load: {closed: {users: 4, calls: 120, duration: 30s}}}
arms:
  direct: {route: endpointslice}
  kuberesolver: {route: kuberesolver}
  xds: {route: xds}
  envoy: {route: envoy}
  haproxy: {route: haproxy}
  nginx: {route: nginx}
  envoy-wire: {route: envoy, caller: {kind: wire}}
  haproxy-sidecars: {route: haproxy, proxy: {place: sidecar}, callers: 2, caller: {kind: wire}}
  envoy-http: {route: envoy, service: orders, workload: {call: list}, caller: {kind: http}}
  haproxy-http: {route: haproxy, service: orders, workload: {call: list}, caller: {kind: http}}
  nginx-http: {route: nginx, service: orders, workload: {call: list}, caller: {kind: wire}}
rounds: 1
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, s := document(t, file, "--no-wait")
	for _, a := range d.Arms {
		if a.Calls != 120 || a.Failed() > 0 || len(a.Backends) != 3 {
			t.Errorf("arm %s: %d calls, errors %v %v, backends %v; want 120 calls of 3 backends %+v", a.Name, a.Calls, a.Errors, a.Samples, a.Backends, a.Trials)
		}
	}
	if strings.Contains(s.stdout, "PRIVATE KEY") {
		t.Error("the result contains a key")
	}
}

func TestProxyTaxOfAServiceWithTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "tls.yaml")
	if err := os.WriteFile(file, []byte("service: shop"+secureShop(t, dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := document(t, "proxy-tax", "--quick", "--rounds", "1", "--no-wait", "--service", file, "--set", "load.open.rate=50",
		"--arms", "none,forwarder,envoy-sidecar,envoy-gateway,haproxy-gateway,nginx-sidecar")
	for _, a := range d.Arms {
		if a.Calls == 0 || a.Failed() > 0 || len(a.Backends) == 0 && a.Name != "forwarder" { // which cannot name a backend
			t.Errorf("arm %s: %d calls, errors %v %v, backends %v", a.Name, a.Calls, a.Errors, a.Samples, a.Backends)
		}
	}
	if len(d.Arms) != 6 {
		t.Errorf("%d arms, want 6", len(d.Arms))
	}
}

// TestABackendWithMutualTLSFailsAndIsKilledBehindEveryProxy checks that a proxy encrypts connections to a fault proxy, and
// to a backend that replaces a killed one.
func TestABackendWithMutualTLSFailsAndIsKilledBehindEveryProxy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "faults.yaml")
	text := `experiment: faults
question: What does a backend that is slow, fails or is killed cost?
services:
  shop:` + strings.ReplaceAll(secureShop(t, dir), "\n", "\n    ") + `
defaults: {service: shop, workload: {call: hello}, load: {open: {rate: 60, duration: 7s}}}
arms: {envoy: {route: envoy}, haproxy: {route: haproxy}, nginx: {route: nginx}}
events:
  - {at: 300ms, slow: {backends: 3, by: 300ms}}
  - {at: 800ms, recover: true}
  - {at: 1s, fail: {backends: 3, code: RESOURCE_EXHAUSTED, share: 50 %}}
  - {at: 2s, recover: true}
  - {at: 2500ms, kill: 1}
rounds: 1
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	undisturbed(t, func(try int, wrong func(string, ...any)) { // a busy machine replaces the killed backend late
		d, _ := document(t, file, "--no-wait", "--set", fmt.Sprintf("load.open.duration=%ds", 7*try))
		for _, a := range d.Arms {
			if failed := a.Errors["RESOURCE_EXHAUSTED"]; failed < 10 || failed > 50 { // about half of 60
				wrong("arm %s: the errors are %v %v, want RESOURCE_EXHAUSTED for about 30 calls", a.Name, a.Errors, a.Samples)
			}
			if a.Service.P99 < 300 { // about 30 of 420 to 1,260 calls were slowed down
				wrong("arm %s: the p99 of answered calls is %v ms, want at least 300", a.Name, a.Service.P99)
			}
			if a.Backends["shop-3"] == 0 {
				wrong("arm %s: the backends are %v, want calls to shop-3, which replaced a killed one", a.Name, a.Backends)
			}
		}
		for _, e := range d.Events {
			if e.Error != "" {
				wrong("%s of arm %s: %s", e.What, e.Arm, e.Error)
			}
		}
	})
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
	undisturbed(t, func(_ int, wrong func(string, ...any)) {
		d, _ := document(t, file, "--rounds", "1")
		for _, a := range d.Arms {
			for state := range a.Backends {
				if !strings.HasPrefix(state, "cold ") {
					t.Errorf("arm %s: the backends are %v, want only cold ones: the calls that measured the proxy's cost went to another", a.Name, a.Backends)
				}
			}
			failed := a.Errors["RESOURCE_EXHAUSTED"]
			if failed < 30 || failed > 120 || failed != a.Failed() { // about half of 150
				wrong("arm %s: the errors are %v %v, want RESOURCE_EXHAUSTED for about 75 calls", a.Name, a.Errors, a.Samples)
			}
			if a.Service.P90 < 400 { // about 70 of 225 answered calls were slowed down
				wrong("arm %s: the p90 of answered calls is %v ms, want at least 400", a.Name, a.Service.P90)
			}
		}
		if len(d.FaultProxies) != 1 || d.FaultProxies[0].Unknown != "" || *d.FaultProxies[0].CPU <= 0 {
			wrong("the costs of the fault proxy are %+v, want those of shop", d.FaultProxies)
		}
	})
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
