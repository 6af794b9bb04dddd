package local

import (
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/control"
	"rpclab/internal/cluster/faultproxy"
	"rpclab/internal/process"
	"rpclab/internal/process/stdio"
)

// faultProxy is the process of a fault proxy before a backend.
type faultProxy struct {
	*process.Process
	name    string
	addr    netip.AddrPort // which is published in place of the backend's
	control *control.Controller
	serving <-chan struct{} // closed when it listens
	died    atomic.Bool     // before its backend
}

// startFaultProxy starts a proxy before a backend.
func (c *Cluster) startFaultProxy(id string, backend netip.AddrPort, secured *faultproxy.TLS) (*faultProxy, error) {
	addr, err := c.addresses.allocate()
	if err != nil {
		return nil, err
	}
	counts, serving := control.NewCallCounts(), make(chan struct{})
	var once sync.Once
	announced := stdio.NewLines(func(line string) {
		if _, ok := stdio.Announced(line); ok {
			once.Do(func() { close(serving) })
		}
	})
	args := slices.Concat(c.options.Self, []string{"fault-proxy", "--listen", addr.String(), "--backend", backend.String()})
	if secured != nil {
		args = append(args, "--tls")
	}
	p, err := process.Start(process.Spec{Args: args, Stdout: io.MultiWriter(counts, announced)})
	if err != nil {
		return nil, err
	}
	if secured != nil {
		_ = json.NewEncoder(p.Stdin).Encode(secured) // it fails when the process has exited, and await reports that
	}
	return &faultProxy{Process: p, name: "the fault proxy of " + id, addr: addr, control: control.New(id, p.Stdin, p, counts), serving: serving}, nil
}

// await returns when the proxy listens.
func (p *faultProxy) await() error {
	select {
	case <-p.serving:
		return nil
	case <-p.Done():
		return p.failure()
	}
}

// failure is the error of a proxy that ended unexpectedly.
func (p *faultProxy) failure() error { return stdio.Exited(p.name, p, nil) }

// checkFaultProxy returns an error if a program would listen at the address of its proxy.
func (c *Cluster) checkFaultProxy(p *cluster.Program) error {
	if p == nil || p.Uses("Address") || p.Uses("Host") || c.addresses.one && p.Uses("Port") {
		return nil
	}
	return errors.New("server.command has no {{.Address}} (host:port) and no {{.Host}}, and slow and fail put a proxy at another address before it: " +
		"add {{.Address}}, or {{.Host}} and {{.Port}}, to server.command or server.env")
}
