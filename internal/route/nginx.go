package route

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/template"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
	"rpclab/internal/route/slicewatch"
	"rpclab/internal/tool"
)

// The configuration of nginx: docs/decisions/0013-proxies.md says why it is so.
var nginxConfig = template.Must(template.New("nginx.conf").Parse(`# {{.Name}}, made by rpclab
daemon off;
{{- if .Root}}
user root;
{{- end}}
worker_processes {{.Workers}};
# How long the workers of an older configuration go on with the connections they have.
worker_shutdown_timeout 10s;
pid nginx.pid;
error_log stderr warn;

events { worker_connections {{.Most}}; }

http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;

    upstream backends {
        # What the workers know of backends they know together.
        zone backends 2m;
        {{- with .Balance}}
        {{.}};
        {{- end}}
        {{- range .Backends}}
        server {{.}};
        {{- else}}
        server 127.0.0.1:1 down;
        {{- end}}
        # A connection carries one call at a time. By default it ends after 1000.
        keepalive {{.Kept}};
        keepalive_requests 1000000000;
        keepalive_time 24h;
    }

    server {
        listen {{.Listen}} http2;
        # The default, 128, would be a queue in the client that no other route has.
        http2_max_concurrent_streams 10000;
        # By default a client's connection ends after 1000 calls, an hour, or 75 s of rest.
        keepalive_requests 1000000000;
        keepalive_time 24h;
        keepalive_timeout 1h;
        # No call is to end because the proxy lost patience.
        client_body_timeout 1h;
        grpc_read_timeout 1h;
        grpc_send_timeout 1h;
        client_max_body_size 0;
        location / { grpc_pass grpc://backends; }
        # Says which configuration is in force.
        location = {{.Ask}} { return 200 {{.Generation}}; }
    }
}
`))

// nginxBalance are nginx's names of policies; without any it goes round.
var nginxBalance = map[string]string{
	settings.LeastRequest: "random two least_conn",
	settings.LeastConn:    "least_conn",
	settings.Random:       "random",
}

// standNginx starts nginx and has it read its configuration anew when backends change,
// as its ingress controller does.
func standNginx(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Standing, error) {
	program, err := tool.Find("nginx")
	if err != nil {
		return Standing{}, err
	}
	known, err := followBackends(ctx, s)
	if err != nil {
		return Standing{}, err
	}
	return standProxies(ctx, s, o, h, known, func(at spot) (proxy, error) {
		p := &nginx{spot: at, ask: "/" + rand.Text(), workers: o.Proxy.Workers, balance: nginxBalance[o.Policy], written: known.now().Addrs(), signalled: true}
		text, err := p.configure(p.written)
		return proxy{
			files: map[string]string{"nginx.conf": text},
			Spec: part.Spec{
				Run: process.Spec{Args: []string{program, "-p", at.dir, "-c", at.file("nginx.conf"), "-e", "stderr"}, Workers: true},
				Ready: func(ctx context.Context) error { // by whichever configuration: tell sees to the latest
					_, err := p.inForce(ctx)
					return err
				},
			},
			tell: p.tell,
		}, err
	}, "nginx")
}

// nginx is a running master with its workers.
type nginx struct {
	spot
	ask     string // a path of its own, at which no method and no stranger answers
	workers int
	balance string

	// Only tell changes these, one call at a time.
	generation int
	written    []string // the backends in the file
	signalled  bool     // the master was told to read it
}

// configure makes the next configuration, for these backends.
func (p *nginx) configure(backends []string) (string, error) {
	p.generation++
	var text strings.Builder
	err := nginxConfig.Execute(&text, map[string]any{
		"Name": p.name, "Most": nginxMost, "Kept": nginxKept, "Root": os.Geteuid() == 0, "Workers": p.workers,
		"Balance": p.balance, "Backends": backends, "Listen": p.listen, "Ask": p.ask, "Generation": p.generation,
	})
	return text.String(), err
}

// tell puts a configuration for these backends in force, from where an earlier call failed.
// Old workers are left to end the calls that they have.
func (p *nginx) tell(ctx context.Context, master *part.Part, usable slicewatch.Set) error {
	if backends := usable.Addrs(); !slices.Equal(backends, p.written) {
		if err := p.write(backends); err != nil {
			return err
		}
		p.written, p.signalled = backends, false
	}
	if !p.signalled {
		if err := master.Signal(syscall.SIGHUP); err != nil {
			return err
		}
		p.signalled = true
	}
	said, err := p.inForce(ctx)
	if want := strconv.Itoa(p.generation); err == nil && said != want {
		err = fmt.Errorf("nginx answers by its configuration %q, not yet by %s", said, want)
	}
	return err
}

// write replaces the file; a master that starts just now reads the one or the other.
func (p *nginx) write(backends []string) error {
	text, err := p.configure(backends)
	if err != nil {
		return err
	}
	next := p.file("next.conf")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, p.file("nginx.conf"))
}

// inForce asks which configuration new connections meet.
func (p *nginx) inForce(ctx context.Context) (string, error) {
	var http2 http.Protocols
	http2.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &http2} // of its own: each question on a new connection
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.listen+p.ask, nil)
	if err != nil {
		return "", err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("what listens on %s is not this nginx: it answers %s", p.listen, answer.Status)
	}
	said, err := io.ReadAll(io.LimitReader(answer.Body, 100))
	return string(said), err
}
