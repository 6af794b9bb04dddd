package route

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
	"rpclab/internal/route/slicewatch"
)

// openProxy gives the address of the caller's proxy, which no client can tell from a
// backend's. Who is behind it only the proxy learns; retries are the client's.
func openProxy(_ context.Context, s cluster.Service, o settings.Settings, _ Told) (caller.Target, error) {
	o.Policy, o.Outlier = "", nil // the proxy's
	return openAddress(o, s.Via)
}

// spot is where one proxy stands.
type spot struct {
	name   string // envoy-0
	dir    string // its own, for configuration and sockets
	listen string // host:port
}

// file is the path of a file of the proxy's.
func (s spot) file(name string) string { return filepath.Join(s.dir, name) }

// proxy is a program that stands between callers and backends.
type proxy struct {
	part.Spec
	// files are what it is configured with, by name; they are written before it starts.
	files map[string]string
	// tell tells the running proxy of backends; nil: it asks a control plane by itself.
	tell func(context.Context, *part.Part, slicewatch.Set) error
}

// standProxies starts a proxy for each caller, or one for all of them. A sidecar differs
// from a gateway in whose calls it sees, one caller's alone: neither connections nor the
// turns of a round robin are shared, and each caller pays for a program of its own. Both
// run on this machine, so the network that lies before a gateway elsewhere is in neither.
// known may be nil, where nobody has to be told.
func standProxies(ctx context.Context, s cluster.Service, o settings.Settings, h Host, known *backends, each func(spot) (proxy, error), name string) (all Standing, err error) {
	all = Standing{Files: map[string]string{}, Stop: known.close}
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
		at := spot{name: fmt.Sprintf("%s-%d", name, n)}
		at.dir = filepath.Join(h.Dir, at.name)
		if err := os.Mkdir(at.dir, 0o700); err != nil {
			return all, err
		}
		if at.listen, err = h.Listen(); err != nil {
			return all, err
		}
		p, err := each(at)
		if err != nil {
			return all, err
		}
		p.Name, p.Role, p.Again = at.name, part.Proxy, true
		for file, text := range p.files {
			if err := os.WriteFile(at.file(file), []byte(text), 0o600); err != nil {
				return all, err
			}
			all.Files[at.name+"/"+file] = text
		}
		running, err := part.Start(ctx, p.Spec)
		if err != nil {
			return all, err
		}
		all.Parts = append(all.Parts, running)
		if p.tell != nil {
			known.tell(func(ctx context.Context, usable slicewatch.Set) error { return p.tell(ctx, running, usable) })
		}
		via := s
		via.Via = at.listen
		all.Services = append(all.Services, via)
	}
	return all, nil
}
