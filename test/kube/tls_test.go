package kube

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

const secureImage = "docker.io/library/rpclab-secureserver:1"

// secureShop writes the keys of a service with mutual TLS into a directory, and loads the image of its server. It returns
// the fields tls and calls of the service in YAML.
func secureShop(t *testing.T, dir string) string {
	t.Helper()
	for name, host := range map[string]string{"server": "shop.example", "client": "client"} {
		c, _ := testkit.Certificate(t, host)
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
		if _, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem")); err != nil {
			t.Fatal(err)
		}
	}
	loadSecureServer(t)
	return `calls: {hello: {method: rpclab.v1.Greeter/SayHello, data: {name: you}, check: 'answer.message == "Hello, you"'}}
    tls: {cacert: server.pem, cert: client.pem, key: client-key.pem, servername: shop.example}`
}

// loadSecureServer builds the image of the server with mutual TLS and loads it onto every node, once for all tests.
func loadSecureServer(t *testing.T) {
	t.Helper()
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.names[secureImage] != "" {
		return
	}
	dir := t.TempDir()
	program, archive := filepath.Join(dir, "secureserver"), filepath.Join(dir, "secureserver.tar")
	ran(t, "go", "build", "-o", program, "rpclab/test/kube/secureserver")
	ran(t, testkit.Rpclab(t), "image", "build", "--with", "", "--program", program, "--name", secureImage, "--output", archive)
	cluster(t, "load-image", archive)
	loaded.names[secureImage] = secureImage
}

// secureFiles are the keys of the server, by their paths in pods.
const secureFiles = `{/etc/tls/tls.crt: server.pem, /etc/tls/tls.key: server-key.pem, /etc/tls/clients.crt: client.pem}`

// secureExperiment writes an experiment that calls the service, whose server is this, in these arms.
func secureExperiment(t *testing.T, dir, server, arms string) string {
	t.Helper()
	file := filepath.Join(dir, "tls.yaml")
	text := fmt.Sprintf(`experiment: tls
question: Which backends receive the calls of a service with mutual TLS, on each route?
services:
  shop:
    server: {%s}
    %s
defaults: {service: shop, workload: {call: hello}, load: {closed: {users: 4, calls: 200, duration: 60s}}, server: {fresh: false}}
arms: %s
rounds: 1
`, server, secureShop(t, dir), arms)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// checkSecureArms checks that every call was answered, by all backends where the route balances calls.
func checkSecureArms(t *testing.T, d result.Document, replicas int) {
	t.Helper()
	for _, arm := range d.Arms {
		if arm.Calls != 200 || arm.Failed() > 0 {
			t.Errorf("arm %s: %d calls, %d failed; want 200 and none: %v %v %+v", arm.Name, arm.Calls, arm.Failed(), arm.Errors, arm.Samples, arm.Trials)
		}
		switch arm.Route {
		case "direct", "clusterip", "nodeport", "forwarder":
		default:
			if len(arm.Backends) != replicas {
				t.Errorf("arm %s: %d backends answered, want %d: %v", arm.Name, len(arm.Backends), replicas, arm.Backends)
			}
		}
	}
}

// TestAnImageWithMutualTLSIsCalledOnEveryRoute gives the pods of an image their keys by server.files.
func TestAnImageWithMutualTLSIsCalledOnEveryRoute(t *testing.T) {
	t.Parallel()
	file := secureExperiment(t, t.TempDir(), fmt.Sprintf(`image: %q, port: 9000, args: ["{{.Address}}"], replicas: 2, ready: tcp, files: %s`, secureImage, secureFiles), `
  direct: {route: direct}
  clusterip: {route: clusterip}
  nodeport: {route: nodeport}
  forwarder: {route: forwarder}
  headless: {route: headless}
  endpointslice: {route: endpointslice}
  kuberesolver: {route: kuberesolver}
  xds: {route: xds}
  envoy: {route: envoy}
  envoy-sidecar: {route: envoy, proxy: {place: sidecar}}
  haproxy: {route: haproxy}
  nginx-sidecar: {route: nginx, proxy: {place: sidecar}}
  wire: {route: clusterip, caller: {kind: wire}}`)
	g := begin(t, file)
	s := g.end(t)
	g.leavesNothing(t)
	if s.code != 0 || len(s.document.Arms) != 13 {
		t.Fatalf("exit code %d, %d arms; want 0 and 13\n%s", s.code, len(s.document.Arms), s.stderr)
	}
	checkSecureArms(t, s.document, 2)
	text, err := os.ReadFile(g.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"PRIVATE KEY", "server-key.pem", "client-key.pem"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the result contains %s", secret)
		}
	}
}

// secureNamespace is a namespace with a Deployment and a Service orders, whose pods have their keys from a Secret.
func secureNamespace(t *testing.T, namespace, dir string) {
	t.Helper()
	apply(t, fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace))
	kubectl(t, "create", "secret", "generic", "tls", "-n", namespace,
		"--from-file=tls.crt="+filepath.Join(dir, "server.pem"), "--from-file=tls.key="+filepath.Join(dir, "server-key.pem"), "--from-file=clients.crt="+filepath.Join(dir, "client.pem"))
	apply(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders, namespace: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: orders}}
  template:
    metadata: {labels: {app: orders}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: server
        image: %[2]s
        args: ["0.0.0.0:9000"]
        ports: [{name: grpc, containerPort: 9000}]
        readinessProbe: {tcpSocket: {port: 9000}, periodSeconds: 1}
        volumeMounts: [{name: keys, mountPath: /etc/tls}]
      volumes: [{name: keys, secret: {secretName: tls}}]
---
apiVersion: v1
kind: Service
metadata: {name: orders, namespace: %[1]s}
spec:
  selector: {app: orders}
  ports: [{name: grpc, port: 443, targetPort: 9000}]
`, namespace, secureImage))
	kubectl(t, "rollout", "status", "deployment/orders", "-n", namespace, "--timeout=60s")
}

// TestAnExistingServiceWithMutualTLSIsMeasured calls a Service and copies of its pods. The copies have the keys of
// server.files in place of those in a Secret of the namespace, which rpclab does not read.
func TestAnExistingServiceWithMutualTLSIsMeasured(t *testing.T) {
	t.Parallel()
	const namespace = "shop-tls"
	dir := t.TempDir()
	asItIs := secureExperiment(t, dir, "service: "+namespace+"/orders", `
  clusterip: {route: clusterip}
  headless: {route: headless}
  endpointslice: {route: endpointslice}
  kuberesolver: {route: kuberesolver}
  envoy: {route: envoy}
  haproxy-sidecar: {route: haproxy, proxy: {place: sidecar}}
  nginx: {route: nginx}`)
	secureNamespace(t, namespace, dir)
	checkSecureArms(t, mustRun(t, asItIs), 2)

	text, err := os.ReadFile(asItIs)
	if err != nil {
		t.Fatal(err)
	}
	server := "service: " + namespace + "/orders"
	write := func(more string) string {
		file := filepath.Join(dir, "copied.yaml")
		copied := strings.Replace(string(text), server, "deployment: "+namespace+"/orders, replicas: 2"+more, 1)
		if err := os.WriteFile(file, []byte(copied), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	refused := run(t, write(""), "--arms", "clusterip,endpointslice")
	if refused.code != 3 || !strings.Contains(refused.stderr, "the volume keys at /etc/tls") || !strings.Contains(refused.stderr, "Set server.files") {
		t.Errorf("exit code %d, want 3, and how to replace the Secret:\n%s", refused.code, refused.stderr)
	}
	s := run(t, write(", files: "+secureFiles), "--arms", "clusterip,endpointslice,envoy")
	if s.code != 0 || !strings.Contains(s.stderr, "has files of this machine in place of those in the volume keys") {
		t.Fatalf("exit code %d, want 0, and the replaced volume:\n%s", s.code, s.stderr)
	}
	checkSecureArms(t, s.document, 2)
	for _, arm := range s.document.Arms {
		for id := range arm.Backends {
			if !strings.HasPrefix(id, "shop-") {
				t.Errorf("arm %s: the backend %s answered, want copies only", arm.Name, id)
			}
		}
	}
}

// TestARolloutGivesNewPodsTheirOwnFiles rolls out a version with other keys, after one whose stop signal the cluster
// ignores, which must change nothing.
func TestARolloutGivesNewPodsTheirOwnFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := fmt.Sprintf(`image: %q, port: 9000, args: ["{{.Address}}"], replicas: 2, ready: tcp, stop: {grace: 1s}, files: %s`, secureImage, secureFiles)
	old := secureExperiment(t, dir, server, "\n  endpointslice: {route: endpointslice}")
	text, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	next, _ := testkit.Certificate(t, "shop.example")
	if err := os.WriteFile(filepath.Join(dir, "clients.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: next.Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	service, _, _ := strings.Cut(string(text), "defaults:")
	_, service, _ = strings.Cut(service, "  shop:\n")
	changed := strings.NewReplacer(
		"defaults:", "  next:\n"+strings.Replace(service, "clients.crt: client.pem", "clients.crt: clients.pem", 1)+
			"  signalled:\n"+strings.Replace(service, "stop: {grace: 1s}", "stop: {grace: 1s, signal: INT}", 1)+"defaults:",
		"closed: {users: 4, calls: 200, duration: 60s}", "open: {rate: 20, duration: 60s}",
		"rounds: 1", "events: [{at: 500ms, roll_to: signalled}, {at: 1s, roll_to: next}]\nrounds: 1",
	).Replace(string(text))
	file := filepath.Join(dir, "roll.yaml")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, file)
	if s.code != 0 {
		t.Fatalf("exit code %d\n%s", s.code, s.stderr)
	}
	if e := s.document.Arms[0].Trials[0].Events[0]; !strings.Contains(e.Error, "this cluster ignores the stop signal INT") {
		t.Errorf("%s: error %q, want that the cluster ignores the signal", e.What, e.Error)
	}
	// The new pods do not trust the client, so all answers are from the two old ones.
	arm, answering := s.document.Arms[0], 0
	for _, calls := range arm.Backends {
		answering += min(1, int(calls))
	}
	if failed := arm.Errors["UNAVAILABLE"]; failed < arm.Calls/4 || failed == arm.Calls || answering != 2 || len(arm.Backends) != 4 {
		t.Errorf("%d of %d calls failed: %v %v; backends %v; want answers from two of four pods, because the new ones refuse the client's certificate", arm.Failed(), arm.Calls, arm.Errors, arm.Samples, arm.Backends)
	}
}
