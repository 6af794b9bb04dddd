package route

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
)

// ClusterIP is the virtual IP of a Service.
var ClusterIP = Route{
	Name:       "clusterip",
	Doc:        "every new connection goes to a random ready backend and stays there, as kube-proxy's iptables mode does",
	PickedBy:   PickedByKernel,
	Update:     connectionsStay,
	CarriesTCP: true,
	Open:       openClusterIP,
}

// connectionsStay is the update of routes that pick a backend for each connection.
const connectionsStay = "the client is not updated; a connection stays with its backend until it breaks"

// openClusterIP dials a service's virtual IP. In a cluster without a virtual IP it does what
// kube-proxy's iptables mode does: it picks a random endpoint for each new connection, without
// an extra hop. The endpoints are known before the first call, as on a node, and the client is
// not updated.
func openClusterIP(ctx context.Context, s cluster.Service, o settings.Settings, _ UpdateFunc) (caller.Target, error) {
	if s.VIP != "" {
		target, err := openAddress(o, net.JoinHostPort(completeName(s.VIP), strconv.Itoa(cmp.Or(s.VIPPort, s.Port))))
		if o.LocalPorts > 0 {
			target.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
				return o.Dialer().DialContext(ctx, "tcp", addr)
			}
		}
		return target, err
	}
	watcher := endpointslice.NewWatcher(s)
	if _, err := watcher.Sync(ctx); err != nil {
		watcher.Close()
		return caller.Target{}, fmt.Errorf("route clusterip: endpoints of %s: %w", s.Name, err)
	}
	config, err := o.ServiceConfig("")
	if err != nil {
		watcher.Close()
		return caller.Target{}, err
	}
	target := caller.Target{
		URI:           fmt.Sprintf("passthrough:///%s:%d", s.Host, s.Port),
		ServiceConfig: config,
		Dial:          dialRandom(watcher, o.Dialer()),
		Close:         watcher.Close,
	}
	state, _ := watcher.Current()
	if one, ok := state.Usable.Random(); ok {
		// A gateway in another language cannot use the dialer, so it dials one endpoint. A virtual IP has the same effect
		// there, because gRPC core shares one connection between all channels of a process to one address, unless each has
		// its own, which rpclab refuses on this route.
		target.PortableURI = one.Addr.String()
	}
	return target, nil
}

// openAddress makes a target of one address (host:port).
func openAddress(o settings.Settings, address string) (caller.Target, error) {
	config, err := o.ServiceConfig("")
	return caller.Target{URI: "passthrough:///" + address, PortableURI: address, ServiceConfig: config, Close: func() {}}, err
}

// dialRandom connects to a uniformly random usable endpoint, whatever the address. Without
// an endpoint it fails with ECONNREFUSED, as kube-proxy's REJECT does.
func dialRandom(watcher *endpointslice.Watcher, dialer *net.Dialer) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		state, _ := watcher.Current()
		to, ok := state.Usable.Random()
		if !ok {
			refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
			return nil, fmt.Errorf("clusterip %s: no ready endpoint: %w", addr, &net.OpError{Op: "dial", Net: "tcp", Err: refused})
		}
		return dialer.DialContext(ctx, "tcp", to.Addr.String())
	}
}
