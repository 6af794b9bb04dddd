package conformance

import "testing"

// TestProxiesAnswerEveryCallRight puts each proxy in front of two grpc-go servers,
// HTTP/2 in clear text on both sides.
func TestProxiesAnswerEveryCallRight(t *testing.T) {
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

// nginx ends a connection with GOAWAY after 1000 requests and drops the streams above
// the last one, so this run opens twenty connections.
func nginx(t *testing.T, p proxy) []string {
	return []string{installed(t, "nginx"), "-p", p.Dir, "-c", p.configured(t, "nginx.conf"), "-e", "stderr"}
}

// haproxy stays in the foreground, one process of several threads.
func haproxy(t *testing.T, p proxy) []string {
	return []string{installed(t, "haproxy"), "-db", "-f", p.configured(t, "haproxy.cfg")}
}

// nghttpx takes its settings as flags: one thread, both sides without TLS.
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
