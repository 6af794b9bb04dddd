package route

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
	"rpclab/internal/route/slicewatch"
)

// openClusterIP goes to a service's virtual IP. Where the cluster has none it stands for
// one in kube-proxy's iptables mode: the node rewrites the destination of each new connection to an endpoint chosen
// at random, so there is no extra hop and a connection stays where it is. The table
// is the node's: it is in place before the first call, and no client is told of
// changes.
func openClusterIP(ctx context.Context, s cluster.Service, o settings.Settings, _ Told) (caller.Target, error) {
	if s.VIP != "" {
		return openAddress(o, net.JoinHostPort(whole(s.VIP), strconv.Itoa(s.Port)))
	}
	table := slicewatch.Follow(s)
	if _, err := table.Sync(ctx); err != nil {
		table.Close()
		return caller.Target{}, fmt.Errorf("route clusterip: endpoints of %s: %w", s.Name, err)
	}
	config, err := o.ServiceConfig("")
	if err != nil {
		table.Close()
		return caller.Target{}, err
	}
	target := caller.Target{
		URI:           fmt.Sprintf("passthrough:///%s:%d", s.Host, s.Port),
		ServiceConfig: config,
		Dial:          dialRandom(table),
		Close:         table.Close,
	}
	state, _ := table.Now()
	if one, ok := state.Usable.Random(); ok {
		// A client that cannot be given a dialer gets the endpoint of its first connection. That
		// is what the virtual IP would give it as long as one is open, for gRPC's core has all
		// channels of a process that go to one address share a connection.
		target.Foreign = one.Addr.String()
	}
	return target, nil
}

// openAddress goes to one address (host:port), of which the client learns nothing more.
func openAddress(o settings.Settings, address string) (caller.Target, error) {
	config, err := o.ServiceConfig("")
	return caller.Target{URI: "passthrough:///" + address, Foreign: address, ServiceConfig: config, Close: func() {}}, err
}

// dialRandom connects to a uniformly random usable endpoint, whatever address is
// asked for; without one the connection is refused, as kube-proxy's REJECT does.
func dialRandom(table *slicewatch.Table) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		state, _ := table.Now()
		to, ok := state.Usable.Random()
		if !ok {
			refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
			return nil, fmt.Errorf("clusterip %s: no ready endpoint: %w", addr, &net.OpError{Op: "dial", Net: "tcp", Err: refused})
		}
		return new(net.Dialer).DialContext(ctx, "tcp", to.Addr.String())
	}
}
