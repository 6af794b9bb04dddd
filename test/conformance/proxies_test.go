package conformance

import (
	"testing"

	"rpclab/internal/tool"
)

// TestCallsThroughProxiesReceiveTheirOwnResponses calls two grpc-go servers through each proxy, with cleartext HTTP/2 on
// both sides.
func TestCallsThroughProxiesReceiveTheirOwnResponses(t *testing.T) {
	ids := []string{"b1", "b2"}
	for name, command := range map[string]func(*testing.T, proxy) []string{
		"nginx":   nginx,
		"haproxy": haproxy,
		"envoy":   envoy,
		"nghttpx": nghttpx,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := proxy{Listen: free(t), Backends: backends(t, ids), Dir: t.TempDir()}
			start(t, p.Listen, command(t, p)...)
			answered(t, load(t, p.Listen, greet(), calls), ids, calls)
		})
	}
}

// nginx closes a connection with GOAWAY after 1000 requests and drops later streams, so this run opens
// twenty connections.
func nginx(t *testing.T, p proxy) []string {
	return []string{installed(t, tool.Nginx), "-p", p.Dir, "-c", p.configured(t, "nginx.conf"), "-e", "stderr"}
}

// haproxy runs in the foreground as one process with several threads.
func haproxy(t *testing.T, p proxy) []string {
	return []string{installed(t, tool.HAProxy), "-db", "-f", p.configured(t, "haproxy.cfg")}
}

// nghttpx runs with one thread, without TLS on either side.
func nghttpx(t *testing.T, p proxy) []string {
	args := []string{
		debian(t, "nghttpx", "nghttp2-proxy"), "--conf=/dev/null", "--single-process", "--workers=1",
		"--errorlog-file=/dev/stderr", "--accesslog-file=/dev/null", "--log-level=WARN",
		"--frontend=127.0.0.1," + p.Port(p.Listen) + ";no-tls",
	}
	for _, addr := range p.Backends {
		args = append(args, "--backend=127.0.0.1,"+p.Port(addr)+";;proto=h2")
	}
	return args
}
