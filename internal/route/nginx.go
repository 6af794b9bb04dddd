package route

import (
	"context"
	"crypto/rand"
	_ "embed"
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
	"rpclab/internal/route/component"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
	"rpclab/internal/tool"
)

// nginxConfigText is the configuration; docs/decisions/0013-proxies.md has the reasons.
//
//go:embed nginx.conf.tmpl
var nginxConfigText string

var nginxConfig = template.Must(template.New("nginx.conf").Parse(nginxConfigText))

// nginxBalance maps policies to nginx's directives; the default is round robin.
var nginxBalance = map[string]string{
	settings.LeastRequest: "random two least_conn",
	settings.LeastConn:    "least_conn",
	settings.Random:       "random",
}

// Nginx is the route through nginx.
var Nginx = Route{
	Name:     "nginx",
	Doc:      "every call goes through nginx, which balances by round robin and loads a new configuration when the ready backends change",
	PickedBy: PickedByProxy,
	Update:   "the client is not updated; the proxy reloads its configuration when backends change",
	Policies: proxyPolicies, CarriesHTTP1: true, Binary: tool.Nginx,
	OpenFiles: filesOfNginx, MaxConnections: nginxMaxConnections,
	Start: startNginx, Open: openProxy,
}

// startNginx starts nginx and reloads its configuration when backends change, as nginx's
// ingress controller does.
func startNginx(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Infrastructure, error) {
	program, err := tool.Nginx.Find()
	if err != nil {
		return Infrastructure{}, err
	}
	backends, err := followBackends(ctx, s)
	if err != nil {
		return Infrastructure{}, err
	}
	return startProxies(ctx, s, o, h, backends, func(at site) (proxy, error) {
		p := &nginxProcess{site: at, statusPath: "/" + rand.Text(), workers: o.Proxy.Workers, balance: nginxBalance[o.Policy], upstreamHeader: upstreamHeader(o), http1: o.HTTP1, tls: o.TLS, written: backends.usable().Addrs(), signalled: true}
		text, err := p.configure(p.written)
		return proxy{
			files: map[string]string{"nginx.conf": text},
			Spec: component.Spec{
				Process: process.Spec{Args: []string{program, "-p", at.dir, "-c", at.file("nginx.conf"), "-e", "stderr"}, HasChildren: true},
				Ready: func(ctx context.Context) error { // by any configuration: update awaits the latest
					_, err := p.activeConfig(ctx)
					return err
				},
			},
			update: p.update,
		}, err
	}, "nginx")
}

// nginxProcess is a running master with its workers.
type nginxProcess struct {
	site
	statusPath string // random, so that no other server answers at it
	workers    int
	balance    string
	// upstreamHeader is the header with the address of the backend; empty: none.
	upstreamHeader string
	http1          bool // calls are HTTP/1.1 requests; false: gRPC
	tls            *settings.TLS

	// Only update changes these, one call at a time.
	generation int
	written    []string // the backends in the file
	signalled  bool     // the master was signalled to read it
}

// configure renders the next configuration.
func (p *nginxProcess) configure(backends []string) (string, error) {
	p.generation++
	module, scheme := "grpc", "grpc"
	if p.http1 {
		module, scheme = "proxy", "http"
	}
	if p.tls != nil {
		scheme += "s"
	}
	var text strings.Builder
	err := nginxConfig.Execute(&text, map[string]any{
		"Name": p.name, "MaxConnections": nginxMaxConnections, "IdleConnections": nginxIdleConnections, "IsRoot": os.Geteuid() == 0, "Workers": p.workers,
		"Balance": p.balance, "Backends": backends, "Listen": p.listen, "StatusPath": p.statusPath, "UpstreamHeader": p.upstreamHeader, "HTTP1": p.http1, "Module": module, "Scheme": scheme, "TLS": p.tls, "SNIName": p.tls.SNI(), "Generation": p.generation,
	})
	return text.String(), err
}

// update activates a configuration for these backends, and continues where an earlier call
// failed. Old workers finish their calls.
func (p *nginxProcess) update(ctx context.Context, master *component.Component, usable endpointslice.Set) error {
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
	active, err := p.activeConfig(ctx)
	if want := strconv.Itoa(p.generation); err == nil && active != want {
		err = fmt.Errorf("nginx still uses configuration %q, not %s", active, want)
	}
	return err
}

// write replaces the file atomically, for a master that starts at the same time.
func (p *nginxProcess) write(backends []string) error {
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

// activeConfig returns the number of the configuration that nginx uses for new connections.
func (p *nginxProcess) activeConfig(ctx context.Context) (string, error) {
	var protocols http.Protocols
	protocols.SetHTTP1(p.http1)
	protocols.SetUnencryptedHTTP2(!p.http1)
	transport := &http.Transport{Protocols: &protocols} // not shared: each request needs a new connection
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.listen+p.statusPath, nil)
	if err != nil {
		return "", err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("another server listens on %s: it answers %s", p.listen, answer.Status)
	}
	number, err := io.ReadAll(io.LimitReader(answer.Body, 100))
	return string(number), err
}
