package route

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/component"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
	"rpclab/internal/service"
)

// openProxy dials the caller's proxy like a backend. The proxy balances, the client retries.
func openProxy(_ context.Context, s cluster.Service, o settings.Settings, _ UpdateFunc) (caller.Target, error) {
	o.Policy, o.Outlier = "", nil
	return openAddress(o, s.Proxy)
}

// upstreamHeader is the header by which a proxy reports its upstream; empty: none.
func upstreamHeader(o settings.Settings) string {
	if o.ReportUpstream {
		return service.UpstreamHeader
	}
	return ""
}

// site is the name, directory and address of one proxy.
type site struct {
	name   string // envoy-0
	dir    string // not shared, for configuration and sockets
	listen string // host:port
}

// file is the path of a file in the proxy's directory.
func (s site) file(name string) string { return filepath.Join(s.dir, name) }

// proxy is a program between callers and backends.
type proxy struct {
	component.Spec
	// files are its configuration, by name, written before it starts.
	files map[string]string
	// update sets the backends of the running proxy; nil: it connects to a control plane.
	update func(context.Context, *component.Component, endpointslice.Set) error
}

// startProxies starts a sidecar for each caller, or one proxy for all callers. Sidecars share
// neither connections nor the order of a round robin. known may be nil where a control plane
// updates the proxies.
func startProxies(ctx context.Context, s cluster.Service, o settings.Settings, h Host, known *backends, each func(site) (proxy, error), name string) (all Infrastructure, err error) {
	all = Infrastructure{Files: map[string]string{}, Stop: known.close}
	defer func() {
		if err != nil {
			err = errors.Join(err, all.Close())
		}
	}()
	count := 1
	if o.Proxy.Sidecar {
		count = h.Callers
	}
	for n := range count {
		at := site{name: fmt.Sprintf("%s-%d", name, n)}
		at.dir = filepath.Join(h.Dir, at.name)
		if err := os.Mkdir(at.dir, 0o700); err != nil {
			return all, err
		}
		if at.listen, err = h.AllocateAddress(); err != nil {
			return all, err
		}
		p, err := each(at)
		if err != nil {
			return all, err
		}
		p.Name, p.Role, p.Restart = at.name, component.Proxy, true
		for file, text := range p.files {
			if err := os.WriteFile(at.file(file), []byte(text), 0o600); err != nil {
				return all, err
			}
			all.Files[at.name+"/"+file] = text
		}
		running, err := component.Start(ctx, p.Spec)
		if err != nil {
			return all, err
		}
		all.Components = append(all.Components, running)
		if p.update != nil {
			known.follow(func(ctx context.Context, usable endpointslice.Set) error { return p.update(ctx, running, usable) })
		}
		via := s
		via.Proxy = at.listen
		all.Services = append(all.Services, via)
	}
	return all, nil
}
