package load

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"rpclab/internal/service/request"
)

// target is what a load dials: the addresses of its servers. A name is resolved once, so that the
// addresses stay the same during the load.
type target struct {
	name      string   // as the user wrote it
	authority string   // of the calls, from the first server; its host is the name that TLS verifies
	addresses []string // HOST:PORT with an IP address, or unix:PATH
	balance   string   // [PickFirst] or [RoundRobin]
	// patience is how long it may take to accept one connection; 0: connectTimeout.
	patience time.Duration
}

// server is one entry of a target.
type server struct {
	host, port string
	nameserver string // HOST:PORT of the DNS server; empty: the system's
	socket     string // path of a Unix socket; empty: TCP
}

const unixScheme = "unix:"

// parseTarget parses HOST:PORT, dns://[NAMESERVER]/HOST:PORT, unix:PATH, or several of them with
// commas: the names of gRPC (gRPC Name Resolution).
func parseTarget(text string) (all []server, err error) {
	for part := range strings.SplitSeq(text, ",") {
		one, err := parseServer(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func parseServer(text string) (one server, err error) {
	if path, ok := strings.CutPrefix(text, unixScheme); ok {
		path, isURI := strings.CutPrefix(path, "//")
		if one.socket = path; path == "" {
			return one, request.Invalidf("%q is not a socket: use unix:///PATH", text)
		}
		if host, _, _ := strings.Cut(path, "/"); isURI && host != "" { // gRPC Name Resolution rejects it, too
			return one, request.Invalidf("%q names the host %q, but a socket is on this machine: use unix:///PATH for an absolute path, or unix:PATH for a relative one", text, host)
		}
		return one, nil
	}
	address := text
	if name, ok := strings.CutPrefix(text, "dns:"); ok {
		address = name
		if rest, ok := strings.CutPrefix(name, "//"); ok {
			if one.nameserver, address, ok = strings.Cut(rest, "/"); !ok {
				return one, request.Invalidf("%q has no slash before the name: use dns:///HOST:PORT, or dns://NAMESERVER/HOST:PORT", text)
			}
		}
		if _, _, err := net.SplitHostPort(one.nameserver); one.nameserver != "" && err != nil {
			one.nameserver = net.JoinHostPort(strings.Trim(one.nameserver, "[]"), "53")
		}
	}
	if strings.HasPrefix(text, "xds:") {
		return one, request.Invalidf("%q: rpclab load has no client of a control plane: give the route xds to an arm of an experiment, as rpclab run rollout has it, or use HOST:PORT", text)
	}
	if strings.Contains(address, "://") {
		return one, request.Invalidf("%q is a URL: use HOST:PORT, dns:///HOST:PORT or unix:///PATH for gRPC, or --http GET for REST", text)
	}
	if one.host, one.port, err = net.SplitHostPort(address); err != nil || one.host == "" || one.port == "" {
		return one, request.Invalidf("%q is not an address: use HOST:PORT, such as 127.0.0.1:50051", text)
	}
	if _, err := net.LookupPort("tcp", one.port); err != nil {
		return one, request.Invalidf("%q: %s is not a port: use 1 to 65535", text, one.port)
	}
	return one, nil
}

// resolve looks up all addresses of a target, each once.
func resolve(ctx context.Context, text string) (to target, err error) {
	servers, err := parseTarget(text)
	if err != nil {
		return to, err
	}
	to = target{name: text, authority: servers[0].authority()}
	for _, one := range servers {
		addresses, err := one.lookUp(ctx)
		if err != nil {
			return to, err
		}
		for _, address := range addresses {
			if !slices.Contains(to.addresses, address) {
				to.addresses = append(to.addresses, address)
			}
		}
	}
	return to, nil
}

// authority is localhost for a Unix socket, as in grpc-go.
func (s server) authority() string {
	if s.socket != "" {
		return "localhost"
	}
	return net.JoinHostPort(s.host, s.port)
}

func (s server) lookUp(ctx context.Context) (addresses []string, err error) {
	if s.socket != "" {
		return []string{unixScheme + s.socket}, nil
	}
	resolver := net.DefaultResolver
	if s.nameserver != "" {
		resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.nameserver)
		}}
	}
	hosts, err := resolver.LookupHost(ctx, s.host)
	if err != nil {
		return nil, err
	}
	for _, host := range hosts {
		addresses = append(addresses, net.JoinHostPort(host, s.port))
	}
	return addresses, nil
}

// dialer opens a connection to an address.
type dialer func(ctx context.Context, address string) (net.Conn, error)

// dialAddress opens a connection over TCP or to a Unix socket.
func dialAddress(ctx context.Context, address string) (net.Conn, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, unixScheme); ok {
		network, address = "unix", path
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// hasSockets reports whether any address is a Unix socket.
func (t target) hasSockets() bool {
	return slices.ContainsFunc(t.addresses, func(a string) bool { return strings.HasPrefix(a, unixScheme) })
}

// several reports whether there are several addresses.
func (t target) several() bool { return len(t.addresses) > 1 }

// balanced reports whether calls go to all addresses in turn.
func (t target) balanced() bool { return t.balance == RoundRobin }

// addUnused adds the addresses that answered no call, with a count of 0, and returns them. It does nothing
// if the servers sent their identities, because then rpclab does not know which addresses answered.
func (t target) addUnused(backends map[string]uint64) (unused []string) {
	for id := range backends {
		if !slices.Contains(t.addresses, id) {
			return nil
		}
	}
	for _, address := range t.addresses {
		if t.several() && t.balanced() && backends[address] == 0 {
			backends[address], unused = 0, append(unused, address)
		}
	}
	return unused
}

// addressOf returns the address of a connection in the form of target.addresses.
func addressOf(remote net.Addr) string {
	if remote.Network() == "unix" {
		return unixScheme + remote.String()
	}
	return remote.String()
}

// address returns the address of a URL.
func address(target *url.URL) string {
	port := target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	return net.JoinHostPort(target.Hostname(), port)
}
