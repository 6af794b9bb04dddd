package route

import (
	"context"
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
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
	"rpclab/internal/route/slicewatch"
	"rpclab/internal/tool"
)

// The configuration of HAProxy: docs/decisions/0013-proxies.md says why it is so.
var haproxyConfig = template.Must(template.New("haproxy.cfg").Parse(`# {{.Name}}, made by rpclab
global
    log stderr format raw local0 warning
    nbthread {{.Workers}}
    noreuseport
    stats socket {{.Socket}} mode 600 level admin
    # The default, 100, would be a queue in the client that no other route has.
    tune.h2.max-concurrent-streams 10000

defaults
    mode http
    timeout connect 5s
    # No call is to end because the proxy lost patience.
    timeout client 1h
    timeout server 1h
    # As they are by default: a connection that fails is tried again three times, the
    # last time with another backend. A call that a backend has got is not repeated.
    retries 3
    option redispatch

frontend calls
    bind {{.Listen}} proto h2
    default_backend backends

backend backends
    balance {{.Balance}}
    # A call may take any connection to its backend, also the first of a client's.
    http-reuse always
    # Filled in through the socket, so that the process goes on when backends change.
    server-template s 1-{{.Slots}} 127.0.0.1:1 proto h2 disabled
`))

// haproxyBalance are HAProxy's names of policies; it counts calls, not connections.
var haproxyBalance = map[string]string{
	"":                    "roundrobin",
	settings.RoundRobin:   "roundrobin",
	settings.LeastRequest: "random(2)",
	settings.LeastConn:    "leastconn",
	settings.Random:       "random(1)",
}

// slots is how many backends a configuration has room for: twice as many as there can
// be, when all of them are replaced at once.
const slots = 500

// standHAProxy starts HAProxy and fills its backends in through its runtime API, as its
// ingress controller does.
func standHAProxy(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Standing, error) {
	program, err := tool.Find("haproxy")
	if err != nil {
		return Standing{}, err
	}
	known, err := followBackends(ctx, s)
	if err != nil {
		return Standing{}, err
	}
	return standProxies(ctx, s, o, h, known, func(at spot) (proxy, error) {
		p := &haproxy{socket: at.file("admin.sock")}
		var config strings.Builder
		err := haproxyConfig.Execute(&config, map[string]any{
			"Name": at.name, "Workers": o.Proxy.Workers, "Socket": p.socket, "Listen": at.listen, "Balance": haproxyBalance[o.Policy], "Slots": slots,
		})
		return proxy{
			files: map[string]string{"haproxy.cfg": config.String()},
			Spec: part.Spec{
				Run: process.Spec{Args: []string{program, "-db", "-f", at.file("haproxy.cfg")}}, // -db: one process
				Ready: func(ctx context.Context) error {
					p.forget()
					return p.fill(ctx, known.now())
				},
			},
			tell: func(ctx context.Context, _ *part.Part, usable slicewatch.Set) error { return p.fill(ctx, usable) },
		}, err
	}, "haproxy")
}

// haproxy is a running process with its slots for backends.
type haproxy struct {
	socket string

	mu sync.Mutex
	// slots are who stands in each, from the first, and whether calls go there. One that
	// is left is drained, and taken again only when there is no other.
	slots []slot
	known bool // false: a slot may hold what is not in slots
	next  int  // where to look for a free one first
}

type slot struct {
	addr netip.AddrPort
	used bool
}

// forget is for what may be a new process, in which nobody stands anywhere, or one that
// was told already.
func (p *haproxy) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slots, p.known, p.next = make([]slot, slots), false, 0
}

// fill makes calls go to these backends and no others.
func (p *haproxy) fill(ctx context.Context, usable slicewatch.Set) error {
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
			return fmt.Errorf("haproxy has no room for more than %d backends", slots)
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
	if err := p.say(ctx, append(ready, drain...)); err != nil { // first the new ones, so that there is always one
		return err
	}
	p.slots, p.known, p.next = after, true, next
	return nil
}

// say gives commands to the runtime API, at least one, which shows that it answers.
func (p *haproxy) say(ctx context.Context, commands []string) error {
	for most := 100; ; commands = commands[most:] { // a line may have 16 kB
		now := commands[:min(len(commands), most)]
		conn, err := new(net.Dialer).DialContext(ctx, "unix", p.socket)
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		if _, err := fmt.Fprintln(conn, strings.Join(append([]string{"show version"}, now...), ";")); err != nil {
			return err
		}
		answer, err := io.ReadAll(conn)
		if err != nil {
			return err
		}
		for _, refusal := range []string{"No such", "Unknown", "Require", "Invalid", "Permission", "not found"} {
			if strings.Contains(string(answer), refusal) {
				return fmt.Errorf("haproxy says %q to %q", answer, now)
			}
		}
		if len(commands) <= most {
			return nil
		}
	}
}
