package load

import (
	"cmp"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/service/request"
)

// connectTimeout is how long a target may take to accept one connection.
const connectTimeout = 10 * time.Second

// patience is how long a target may take to accept one connection: no longer than a call may take. With a short --timeout it is
// a second, because connections are open before the first call.
func (s Settings) patience() time.Duration {
	return min(max(s.Timeout, time.Second), connectTimeout)
}

func (s Settings) checkConnections() error {
	options := s.ConnectionOptions
	if s.PerCall && (options.Streams != 0 || options.IdleClose != 0) {
		return request.Invalidf("--connections per-call makes one call on each connection, which --streams and --idle-close do not change: leave them out")
	}
	for _, option := range []struct {
		flag  string
		given bool
		fits  bool
		rule  string
	}{
		{"--streams", options.Streams != 0, options.Streams >= 0 && options.Streams <= MaxUsers, fmt.Sprintf("must be 1 to %d", MaxUsers)},
		{"--connect-rate", options.ConnectRate != 0, options.ConnectRate >= 0 && options.ConnectRate <= MaxRate, fmt.Sprintf("must be more than 0 connections/s and at most %d", MaxRate)},
		{"--source", len(options.Sources) > 0, true, ""},
		{"--keepalive", options.KeepAlive != 0, options.KeepAlive >= 0, "must be a duration such as 30s"},
		{"--idle-close", options.IdleClose != 0, options.IdleClose >= 0, "must be a duration such as 5m"},
	} {
		if option.given && s.engine() != Wire {
			return request.Invalidf("%s needs the engine %s, but this load uses %s: leave it out", option.flag, Wire, s.engine())
		}
		if !option.fits {
			return request.Invalidf("%s %s", option.flag, option.rule)
		}
	}
	_, err := options.sources()
	return err
}

// maxSources limits the addresses of a prefix. No load needs more.
const maxSources = 1 << 16

// sources returns the local addresses of connections.
func (c ConnectionOptions) sources() (all []netip.Addr, err error) {
	for _, text := range c.Sources {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			var address netip.Addr
			if address, err = netip.ParseAddr(text); err != nil || address.Zone() != "" {
				return nil, request.Invalidf("--source %s: not an address or prefix: use one such as 127.0.0.2 or 127.1.0.0/28", text)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		if prefix.Addr().BitLen()-prefix.Bits() > 16 {
			return nil, request.Invalidf("--source %s: more than %d addresses: use a longer prefix such as %s/28", text, maxSources, prefix.Masked().Addr())
		}
		for a := prefix.Masked().Addr(); prefix.Contains(a); a = a.Next() {
			all = append(all, a)
		}
	}
	return all, checkSources(all)
}

// checkSources rejects addresses that this machine does not have, and mixed address families.
func checkSources(all []netip.Addr) error {
	if len(all) == 0 {
		return nil
	}
	local, err := measure.LocalAddresses()
	if err != nil {
		return fmt.Errorf("--source: list the addresses of this machine: %w", err)
	}
	for _, address := range all {
		if address.Is4() != all[0].Is4() {
			return request.Invalidf("--source %s and --source %s: one is IPv4 and the other IPv6: use the target's address family", all[0], address)
		}
		// Linux accepts all of 127.0.0.0/8.
		if !slices.Contains(local, address) && !(runtime.GOOS == "linux" && address.Is4() && address.IsLoopback()) {
			return request.Invalidf("--source %s: this machine does not have the address: use an address of this machine, such as 127.0.0.2", address)
		}
	}
	return nil
}

// sameFamily returns the target's addresses of the sources' address family.
func sameFamily(target string, addresses []string, sources []netip.Addr) ([]string, error) {
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
		return nil, request.Invalidf("--source %s cannot reach %s: one is IPv4 and the other IPv6", sources[0], target)
	}
	return all, nil
}

// reservedFiles are files that a load opens besides connections.
const reservedFiles = 64

// checkFiles raises the limit of open files, and fails before the first connection is opened if
// the limit is too low. With round_robin, rpclab opens the connections to each of the addresses.
func (s Settings) checkFiles(addresses int) error {
	limit, err := process.RaiseFileLimit()
	if err != nil {
		return err
	}
	if s.Balance != RoundRobin {
		addresses = 1
	}
	return checkFileLimit(s.Connections*addresses, limit)
}

func checkFileLimit(connections int, limit uint64) error {
	need := connections + reservedFiles
	if connections == 0 || uint64(need) <= limit {
		return nil
	}
	return fmt.Errorf("%d connections need %d open files, but this process may open %d.\n"+
		"Raise the limit (ulimit -Hn, or LimitNOFILE= of a service), or share the connections\n"+
		"among several processes", connections, need, limit)
}

// timeout returns how long the connections to a target may take to open, with every engine. With round_robin, a number of
// them goes to each address.
func (c ConnectionOptions) timeout(to target, connections int) time.Duration {
	if to.balanced() {
		connections *= len(to.addresses)
	}
	timeout := cmp.Or(to.patience, connectTimeout) + time.Duration(connections)*time.Millisecond
	if c.ConnectRate > 0 {
		timeout += time.Duration(float64(connections) / c.ConnectRate * float64(time.Second))
	}
	return timeout
}

// config returns the options in the form of the result.
func (c ConnectionOptions) config() map[string]any {
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
