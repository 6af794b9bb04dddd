// Package route has the routes by which calls reach backends. A route opens a [caller.Target], which
// any gRPC client understands. A new route is one file and one line in routes.go.
package route

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/route/settings"
	"rpclab/internal/service"
	"rpclab/internal/tool"
)

// Route is how calls reach the backends of a service.
type Route struct {
	Name string
	// Doc is one clause for help: "every new connection goes to …".
	Doc string

	// PickedBy says who picks the backend, and Discovery how the client learns of new
	// backends; empty: it does not.
	PickedBy  Picker
	Discovery Discovery
	// Update is one clause: how, and after what delay, the picker learns of a change of the backends.
	Update string

	// Policies are the load balancing policies that a user can choose, the default first;
	// none: there is no choice.
	Policies []string
	// OutlierDetection says whether the route can leave out backends that fail.
	OutlierDetection bool
	// CarriesTCP says that the route carries connections of any protocol, and so REST too.
	CarriesTCP bool
	// CarriesHTTP1 says that the proxy of the route accepts HTTP/1.1 from clients and speaks it to backends, where
	// [settings.Settings.HTTP1] asks for that.
	CarriesHTTP1 bool
	// VerifiesIPs says that the proxy of the route can verify a certificate for an IP address.
	VerifiesIPs bool
	// FindsByAuthority says that the client finds the service by the authority of its calls, which can be no other.
	FindsByAuthority bool
	// OwnRetries says that a control plane that is not rpclab's sends clients their retries, so caller.retry has no effect.
	OwnRetries bool
	// NeedsFullClient says that the caller must be a full gRPC client (one with xDS).
	NeedsFullClient bool
	// GoOnly says that only callers in Go can use the route.
	GoOnly bool

	// Binary is the program that must be installed: Envoy; without a name: none.
	Binary tool.Tool
	// Untested says that no test of rpclab calls through the route.
	Untested bool
	// OnlyOn is the only cluster that has the route: kubernetes; empty: every cluster has it.
	OnlyOn string
	// Mesh is the service mesh that injects proxies into the pods of callers and backends, as in
	// [cluster.Spec]; empty: none.
	Mesh string
	// NodePort says that calls enter the cluster by a port that every node opens.
	NodePort bool
	// WatchesAPI says that Open watches the EndpointSlice API, so that callers need permission for
	// that. Infrastructure always has it.
	WatchesAPI bool

	// OpenFiles says how many open files the route needs; nil: one for each channel.
	OpenFiles FilesFunc
	// MaxConnections is the connection limit in the proxy's configuration; 0: only
	// that of open files.
	MaxConnections int

	// Start starts the infrastructure of the route; nil: it has none.
	Start StartFunc
	Open  OpenFunc
}

// kubernetes is the cluster that has nodes and meshes.
const kubernetes = "kubernetes"

// OpenFunc returns the target by which a client calls a service. It calls updated with each set of
// addresses that the client's resolver receives; a route whose client has one fixed address never does.
type OpenFunc func(ctx context.Context, s cluster.Service, o settings.Settings, updated UpdateFunc) (caller.Target, error)

// UpdateFunc receives the addresses (host:port) of a resolver update. It may be called from
// any goroutine and must not block.
type UpdateFunc func(at time.Time, addrs []string)

// Picker is who picks the backend: for each call, or for each connection.
type Picker string

// The pickers.
const (
	PickedByNobody Picker = "nobody" // the client dials one backend
	PickedByKernel Picker = "kernel" // each connection goes to a random backend, as with kube-proxy
	PickedByClient Picker = "client" // each call, by the policy of the client
	PickedByProxy  Picker = "proxy"  // each call, by the policy of the proxy
)

// Discovery is how the client learns of new backends.
type Discovery string

// The kinds of discovery.
const (
	DiscoveryNone  Discovery = ""
	DiscoveryDNS   Discovery = "dns"   // it resolves the name again when a connection breaks
	DiscoveryWatch Discovery = "watch" // it watches the EndpointSlice API
	DiscoveryXDS   Discovery = "xds"   // a control plane pushes changes to it
)

// StartInfrastructure starts the infrastructure of the route. It sets the Dir and
// AllocateAddress of the host. On a route without infrastructure callers dial the service.
func (r Route) StartInfrastructure(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Infrastructure, error) {
	plain := Infrastructure{Services: []cluster.Service{s}}
	if r.Start == nil {
		return plain, nil
	}
	dir, err := process.NewTempDir()
	if err != nil {
		return plain, err
	}
	h.Dir = dir.Path
	h.AllocateAddress = FreeAddress
	if h.IP != "" {
		h.AllocateAddress = func() (string, error) { return freeAddress(h.IP) }
	}
	if h.TLS != nil {
		if o.TLS, err = writeTLS(dir.Path, *h.TLS); err != nil {
			return plain, errors.Join(fmt.Errorf("route %s: %w", r.Name, err), dir.Remove())
		}
	}
	running, err := r.Start(ctx, s, o, h)
	if err != nil {
		return plain, errors.Join(fmt.Errorf("route %s: %w", r.Name, err), dir.Remove())
	}
	running.dir = dir
	return running, nil
}

// OpenFilesFor says how many open files the route needs for a demand, and what for.
func (r Route) OpenFilesFor(d Demand) (n int, what string) {
	if d.CallPerConnection {
		d.Channels = max(d.Channels, d.Calls)
	}
	if r.OpenFiles == nil { // a connection for each channel
		d.Backends = 1
		return eachBackend(0)(d)
	}
	return r.OpenFiles(d)
}

// CheckAuthority returns the reason why calls of a service cannot have the authority that they should have; nil: they can.
func (r Route) CheckAuthority(call service.Spec) error {
	field := ""
	switch {
	case !r.FindsByAuthority:
	case call.Authority != "":
		field = "authority"
	case call.TLS != nil && call.TLS.ServerName != "":
		field = "tls.servername"
	}
	if field == "" {
		return nil
	}
	return fmt.Errorf("on route %s the client finds the service by the authority of its calls, and %s sets another: remove %s, or use route xds or endpointslice", r.Name, field, field)
}

// CheckTLS returns the reason why the proxy of the route cannot verify the certificates of backends; nil: it can.
func (r Route) CheckTLS(t service.TLS) error {
	switch {
	case t.Insecure:
		return nil
	case t.ServerName == "":
		return fmt.Errorf("the proxy of route %s needs the name in the backends' certificates: set tls.servername", r.Name)
	case settings.TLS{ServerName: t.ServerName}.IsIP() && !r.VerifiesIPs:
		return fmt.Errorf("the proxy of route %s verifies host names, and %s is an IP address: set tls.servername to a host name in the backends' certificates, or use route envoy", r.Name, t.ServerName)
	}
	return nil
}
