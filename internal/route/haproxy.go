package route

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"text/template"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/route/component"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
	"rpclab/internal/tool"
)

// haproxyConfigText is the configuration; docs/decisions/0013-proxies.md has the reasons.
//
//go:embed haproxy.cfg.tmpl
var haproxyConfigText string

var haproxyConfig = template.Must(template.New("haproxy.cfg").Parse(haproxyConfigText))

// haproxyBalance maps policies to HAProxy's algorithms, which count calls, not connections.
var haproxyBalance = map[string]string{
	"":                    "roundrobin",
	settings.RoundRobin:   "roundrobin",
	settings.LeastRequest: "random(2)",
	settings.LeastConn:    "leastconn",
	settings.Random:       "random(1)",
}

// slots is the number of backends that a configuration can hold: twice the maximum, because all may be
// replaced at once.
const slots = 500

// HAProxy is the route through HAProxy.
var HAProxy = Route{
	Name:     "haproxy",
	Doc:      "every call goes through HAProxy, which balances calls over the ready backends; rpclab updates it through its runtime API",
	PickedBy: PickedByProxy,
	Update:   "the client is not updated; the runtime API of the proxy sets its backends",
	Policies: proxyPolicies, CarriesHTTP1: true, Binary: tool.HAProxy,
	OpenFiles: filesOfHAProxy,
	Start:     startHAProxy, Open: openProxy,
}

// startHAProxy starts HAProxy and sets its backends through the runtime API, as HAProxy's
// ingress controller does.
func startHAProxy(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Infrastructure, error) {
	program, err := tool.HAProxy.Find()
	if err != nil {
		return Infrastructure{}, err
	}
	backends, err := followBackends(ctx, s)
	if err != nil {
		return Infrastructure{}, err
	}
	return startProxies(ctx, s, o, h, backends, func(at site) (proxy, error) {
		p := &haproxySlots{socket: at.file("admin.sock")}
		var config strings.Builder
		err := haproxyConfig.Execute(&config, map[string]any{
			"Name": at.name, "Workers": o.Proxy.Workers, "Socket": p.socket, "Listen": at.listen, "Balance": haproxyBalance[o.Policy], "Slots": slots, "KeptIdle": 2 * o.Proxy.Workers,
			"UpstreamHeader": upstreamHeader(o), "HTTP1": o.HTTP1, "TLS": o.TLS, "SNIName": o.TLS.SNI(),
		})
		return proxy{
			files: map[string]string{"haproxy.cfg": config.String()},
			Spec: component.Spec{
				Process: process.Spec{Args: []string{program, "-db", "-f", at.file("haproxy.cfg")}}, // -db: one process
				Ready: func(ctx context.Context) error {
					p.forget()
					return p.fill(ctx, backends.usable())
				},
			},
			update: func(ctx context.Context, _ *component.Component, usable endpointslice.Set) error {
				return p.fill(ctx, usable)
			},
		}, err
	}, "haproxy")
}

// haproxySlots are the backend slots of a running HAProxy.
type haproxySlots struct {
	socket string

	mu sync.Mutex
	// slots hold the address of each slot, and whether HAProxy sends calls to it. A slot whose backend
	// was removed drains, and is reused only after all others.
	slots []slot
	known bool // slots describes the process
	next  int  // the slot to try first
}

type slot struct {
	addr netip.AddrPort
	used bool
}

// forget marks the state as unknown: the process may be new, with empty slots.
func (p *haproxySlots) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slots, p.known, p.next = make([]slot, slots), false, 0
}

// fill makes HAProxy send calls to exactly these backends.
func (p *haproxySlots) fill(ctx context.Context, usable endpointslice.Set) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := map[netip.AddrPort]bool{}
	for _, e := range usable {
		wanted[e.Addr] = true
	}
	after, next := append([]slot(nil), p.slots...), p.next
	var ready, drain []string
	for i, s := range after {
		if s.used && wanted[s.addr] {
			delete(wanted, s.addr)
		} else if s.used {
			after[i].used = false
		}
	}
	for _, e := range usable {
		if !wanted[e.Addr] {
			continue
		}
		i, tried := next, 0
		for ; after[i].used && tried < slots; tried++ {
			i = (i + 1) % slots
		}
		if after[i].used {
			return fmt.Errorf("haproxy is configured for %d backends at most", slots)
		}
		after[i], next = slot{e.Addr, true}, (i+1)%slots
		ready = append(ready,
			fmt.Sprintf("set server backends/s%d addr %s port %d", i+1, e.Addr.Addr(), e.Addr.Port()),
			fmt.Sprintf("set server backends/s%d state ready", i+1))
	}
	for i := range after {
		if !after[i].used && (p.slots[i].used || !p.known) {
			drain = append(drain, fmt.Sprintf("set server backends/s%d state drain", i+1))
		}
	}
	if err := p.send(ctx, append(ready, drain...)); err != nil { // new backends first, so that one is always ready
		return err
	}
	p.slots, p.known, p.next = after, true, next
	return nil
}

// send sends commands to the runtime API, after a command that always has an answer.
func (p *haproxySlots) send(ctx context.Context, commands []string) error {
	for size := 100; ; commands = commands[size:] { // HAProxy limits a line to 16 kB
		batch := commands[:min(len(commands), size)]
		conn, err := new(net.Dialer).DialContext(ctx, "unix", p.socket)
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		if _, err := fmt.Fprintln(conn, strings.Join(append([]string{"show version"}, batch...), ";")); err != nil {
			return err
		}
		answer, err := io.ReadAll(conn)
		if err != nil {
			return err
		}
		for _, refusal := range []string{"No such", "Unknown", "Require", "Invalid", "Permission", "not found"} {
			if strings.Contains(string(answer), refusal) {
				return fmt.Errorf("haproxy answers %q to %q", answer, batch)
			}
		}
		if len(commands) <= size {
			return nil
		}
	}
}
