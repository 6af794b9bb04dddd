package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// httpServer is a server in Python's standard library, which speaks HTTP/1.1 only.
const httpServer = `import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one write for a response

    def do_GET(self):
        body = b'{"orders": [1, 2]}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

host, port = sys.argv[1].rsplit(":", 1)
http.server.ThreadingHTTPServer.request_queue_size = 128
server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
if len(sys.argv) > 2:  # the certificate and its key
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
`

const httpService = `service: orders
server: {command: [python3, server.py, "{{.Address}}"], replicas: 3}
calls:
  list: {http: GET, path: "/orders?customer={{.Number}}", check: "status == 200 && size(answer.orders) == 2"}
`

// httpFiles writes files for the server in Python, and returns their directory.
func httpFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAnHTTPServiceIsCalledThroughEveryProxy checks that rpclab knows which backend answered each request.
func TestAnHTTPServiceIsCalledThroughEveryProxy(t *testing.T) {
	t.Parallel()
	dir := httpFiles(t, map[string]string{"server.py": httpServer, "proxies.yaml": `experiment: proxies
question: Does each proxy pass on HTTP/1.1?
services:
  orders:
    server: {command: [python3, server.py, "{{.Address}}"], replicas: 3}
    calls: {list: {http: GET, path: "/orders?customer={{.Number}}", check: "status == 200 && size(answer.orders) == 2"}}
defaults: {service: orders, workload: {call: list}, caller: {kind: http}, load: {closed: {users: 4, calls: 120, duration: 60s}}}
arms:
  envoy: {route: envoy}
  haproxy: {route: haproxy}
  nginx: {route: nginx}
  envoy-wire: {route: envoy, caller: {kind: wire}}
  haproxy-wire: {route: haproxy, caller: {kind: wire}}
  nginx-wire: {route: nginx, caller: {kind: wire}}
  nginx-sidecars: {route: nginx, proxy: {place: sidecar}, callers: 2, caller: {channel: per-call}}
rounds: 1
`})
	d, _ := document(t, filepath.Join(dir, "proxies.yaml"), "--no-wait")
	for _, a := range d.Arms {
		answered := uint64(0)
		for id, n := range a.Backends {
			answered += n
			if !regexp.MustCompile(`^orders-\d$`).MatchString(id) {
				t.Errorf("arm %s: the backend %s answered, want the names of the replicas", a.Name, id)
			}
		}
		if a.Calls != 120 || answered != 120 || len(a.Backends) != 3 || slices.Min(slices.Collect(maps.Values(a.Backends))) == 0 {
			t.Errorf("arm %s: %d calls, errors %v %v, backends %v; want 120 calls of 3 backends", a.Name, a.Calls, a.Errors, a.Samples, a.Backends)
		}
	}
}

// TestABackendOfAnHTTPServiceFailsBehindEveryProxy checks that a proxy passes on the responses of a fault proxy.
func TestABackendOfAnHTTPServiceFailsBehindEveryProxy(t *testing.T) {
	t.Parallel()
	dir := httpFiles(t, map[string]string{"server.py": httpServer, "faults.yaml": `experiment: faults
question: What does a backend that fails cost?
services:
  orders:
    server: {command: [python3, server.py, "{{.Address}}"], replicas: 3}
    calls: {list: {http: GET, path: /orders}}
defaults: {service: orders, workload: {call: list}, caller: {kind: http}, load: {open: {rate: 50, duration: 4s}}}
arms: {envoy: {route: envoy}, haproxy: {route: haproxy}, nginx: {route: nginx}}
events: [{at: 1s, fail: {backends: 1, code: UNAVAILABLE}}]
rounds: 1
`})
	undisturbed(t, func(_ int, wrong func(string, ...any)) {
		d, _ := document(t, filepath.Join(dir, "faults.yaml"), "--no-wait")
		for _, a := range d.Arms {
			failed := a.Failed()
			if failed == 0 || failed > a.Calls/2 || a.Errors["HTTP_503"] != failed {
				wrong("arm %s: %d of %d calls failed: %v %v; want about a quarter, because of the fault", a.Name, failed, a.Calls, a.Errors, a.Samples)
			}
		}
		for _, e := range d.Events {
			if e.Error != "" || !slices.Equal(e.Affected, []string{"orders-0"}) {
				wrong("%s of arm %s affected %v: %s; want orders-0", e.What, e.Arm, e.Affected, e.Error)
			}
		}
	})
}

func TestProxyTaxOfAnHTTPService(t *testing.T) {
	t.Parallel()
	dir := httpFiles(t, map[string]string{"server.py": httpServer, "orders.yaml": httpService})
	d, _ := document(t, "proxy-tax", "--quick", "--rounds", "1", "--no-wait", "--service", filepath.Join(dir, "orders.yaml"), "--set", "arms.none.route=clusterip",
		"--set", "load.open.rate=50", "--arms", "none,forwarder,envoy-gateway,haproxy-gateway,nginx-gateway")
	for _, a := range d.Arms {
		if a.Calls == 0 || a.Failed() > 0 || len(a.Backends) == 0 && a.Name != "forwarder" { // which cannot name a backend
			t.Errorf("arm %s: %d calls, errors %v %v, backends %v", a.Name, a.Calls, a.Errors, a.Samples, a.Backends)
		}
	}
	if len(d.Arms) != 5 {
		t.Errorf("%d arms, want 5", len(d.Arms))
	}
}

// Requests of HTTP/1.1 are balanced by connection, so with 30 users each of three replicas answers some.
func TestALoadOfAnHTTPServiceCallsEveryReplica(t *testing.T) {
	t.Parallel()
	dir := httpFiles(t, map[string]string{"server.py": httpServer, "orders.yaml": httpService})
	d, _ := runLoad(t, "--service", filepath.Join(dir, "orders.yaml"), "-c", "30", "-n", "600")
	if a := d.Arms[0]; a.Calls != 600 || a.Failed() > 0 || len(a.Backends) != 3 || slices.Min(slices.Collect(maps.Values(a.Backends))) == 0 {
		t.Errorf("%d calls, errors %v %v, backends %v; want 600 calls of 3 backends", a.Calls, a.Errors, a.Samples, a.Backends)
	}
}
