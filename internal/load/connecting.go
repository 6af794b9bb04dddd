package load

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"rpclab/internal/load/request"
	"rpclab/internal/process"
)

// Connecting is how connections are opened and kept; only the engine wire can be told.
type Connecting struct {
	Streams     int           // calls in flight on each; 0: what the server admits
	ConnectRate float64       // opened per second; 0: no bound
	Sources     []string      // addresses and prefixes that they come from in turn; nil: the system's choice
	KeepAlive   time.Duration // silence before the server is asked for a sign of life; 0: never
	IdleClose   time.Duration // without a call, until one is closed; 0: never
}

func (s Settings) checkConnecting() error {
	c := s.Connecting
	for _, o := range []struct {
		flag  string
		given bool
		fits  bool
		rule  string
	}{
		{"--streams", c.Streams != 0, c.Streams >= 0 && c.Streams <= MaxUsers, fmt.Sprintf("has to be 1 to %d", MaxUsers)},
		{"--connect-rate", c.ConnectRate != 0, c.ConnectRate >= 0 && c.ConnectRate <= MaxRate, fmt.Sprintf("has to be more than 0 connections/s and at most %d", MaxRate)},
		{"--source", len(c.Sources) > 0, true, ""},
		{"--keepalive", c.KeepAlive != 0, c.KeepAlive >= 0, "has to be a time such as 30s"},
		{"--idle-close", c.IdleClose != 0, c.IdleClose >= 0, "has to be a time such as 5m"},
	} {
		if o.given && s.engine() != Wire {
			return request.Wrongf("%s is of the engine %s, and these calls are made by %s: leave it out", o.flag, Wire, s.engine())
		}
		if !o.fits {
			return request.Wrongf("%s %s", o.flag, o.rule)
		}
	}
	_, err := c.sources()
	return err
}

// mostSources is far more than ports can run out of.
const mostSources = 1 << 16

// sources are the addresses that connections come from.
func (c Connecting) sources() (all []netip.Addr, err error) {
	for _, text := range c.Sources {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			var one netip.Addr
			if one, err = netip.ParseAddr(text); err != nil || one.Zone() != "" {
				return nil, request.Wrongf("--source %s: neither an address nor a prefix: write one such as 127.0.0.2 or 127.1.0.0/28", text)
			}
			prefix = netip.PrefixFrom(one, one.BitLen())
		}
		if prefix.Addr().BitLen()-prefix.Bits() > 16 {
			return nil, request.Wrongf("--source %s: over %d addresses: write a longer prefix, such as %s/28", text, mostSources, prefix.Masked().Addr())
		}
		for a := prefix.Masked().Addr(); prefix.Contains(a); a = a.Next() {
			all = append(all, a)
		}
	}
	return all, checkSources(all)
}

// checkSources finds what this machine cannot connect from, or not to one target.
func checkSources(all []netip.Addr) error {
	if len(all) == 0 {
		return nil
	}
	known, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("--source: which addresses this machine has: %w", err)
	}
	var own []netip.Addr
	for _, k := range known {
		if prefix, err := netip.ParsePrefix(k.String()); err == nil {
			own = append(own, prefix.Addr())
		}
	}
	for _, a := range all {
		if a.Is4() != all[0].Is4() {
			return request.Wrongf("--source %s and --source %s: one is IPv4 and the other IPv6: give those of the target", all[0], a)
		}
		// On Linux all of 127.0.0.0/8 is this machine.
		if !slices.Contains(own, a) && !(runtime.GOOS == "linux" && a.Is4() && a.IsLoopback()) {
			return request.Wrongf("--source %s: this machine has no such address: give one of its own, such as 127.0.0.2", a)
		}
	}
	return nil
}

// reachable are the addresses of a target that connections from the sources can go to.
func reachable(target string, addresses []string, sources []netip.Addr) ([]string, error) {
	if len(sources) == 0 {
		return addresses, nil
	}
	var all []string
	for _, text := range addresses {
		if a, err := netip.ParseAddrPort(text); err == nil && a.Addr().Is4() == sources[0].Is4() {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return nil, request.Wrongf("--source %s cannot reach %s: one is IPv4 and the other IPv6", sources[0], target)
	}
	return all, nil
}

// sparedFiles are those that a load has open beside its connections.
const sparedFiles = 64

// checkFiles raises the limit of open files as far as it goes, and says when it stays
// below what the connections need, before the first of them is opened.
func (s Settings) checkFiles() error {
	limit, err := process.MaxFiles()
	if err != nil {
		return err
	}
	return enough(s.Connections, limit)
}

func enough(connections int, limit uint64) error {
	need := connections + sparedFiles
	if connections == 0 || uint64(need) <= limit {
		return nil
	}
	return fmt.Errorf("%d connections need %d open files; a process may have %d here.\n"+
		"Raise that (ulimit -Hn, or LimitNOFILE= of a service), or share the connections\n"+
		"among several processes", connections, need, limit)
}

// patience is how long so many connections may take to open.
func (c Connecting) patience(connections int) time.Duration {
	within := connectWithin + time.Duration(connections)*time.Millisecond
	if c.ConnectRate > 0 {
		within += time.Duration(float64(connections) / c.ConnectRate * float64(time.Second))
	}
	return within
}

// config is what was asked for, as the result keeps it.
func (c Connecting) config() map[string]any {
	all := map[string]any{}
	if c.Streams > 0 {
		all["streams"] = c.Streams
	}
	if c.ConnectRate > 0 {
		all["connect_rate"] = c.ConnectRate
	}
	if len(c.Sources) > 0 {
		all["sources"] = c.Sources
	}
	if c.KeepAlive > 0 {
		all["keepalive"] = c.KeepAlive.String()
	}
	if c.IdleClose > 0 {
		all["idle_close"] = c.IdleClose.String()
	}
	return all
}
