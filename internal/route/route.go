// Package route says how a call finds a backend. A route yields a
// [caller.Target], which any gRPC client understands; a new route is one file and one line in routes.
package route

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
)

// Open makes the target of a route for a service. told is called, from any
// goroutine and without delay, whenever the caller's process learns a new set of
// addresses: "client told" in the result. A route that never tells never calls it.
type Open func(ctx context.Context, s cluster.Service, o settings.Settings, told Told) (caller.Target, error)

// Told receives the addresses (host:port) that a client now knows.
type Told func(at time.Time, addrs []string)

// Route is a named way.
type Route struct {
	Name string
	// Doc is one clause that explains the way: "every new connection goes to …".
	Doc string
	// Follows says whether clients are told of endpoint changes.
	Follows bool
	// Files says how many open files it takes; nil: a connection for each channel.
	Files Files
	// Connections is how many its proxy is configured to have at most, whatever the system
	// allows; 0: as many as that.
	Connections int
	// Policies are the ways in which it can spread calls, its own first; none: there is
	// nothing to choose.
	Policies []string
	// Outliers says whether it can leave out backends that fail.
	Outliers bool
	// Bytes says that it carries connections, whatever they speak, and so REST too.
	Bytes bool
	// Whole says that only a whole gRPC client can take it.
	Whole bool
	// Own says that only clients in Go can take it.
	Own bool
	// Tool is the program that has to be installed: envoy; empty: none.
	Tool string
	// Only is the one cluster that has it: kubernetes; empty: every cluster does.
	Only string
	// Mesh is the service mesh whose proxies stand beside callers and backends, as
	// [cluster.Spec] has it; empty: none.
	Mesh string
	// NodePort says that calls come in by a port that every node opens.
	NodePort bool
	// Watches says that who opens it watches the EndpointSlice API. What Stand starts does in
	// any case.
	Watches bool
	// Stand starts what stands between callers and backends; nil: nothing does.
	Stand Stand
	Open  Open
}

// Lookup finds a route by name.
func Lookup(name string) (Route, error) {
	for _, r := range routes {
		if r.Name == name {
			return r, nil
		}
	}
	return Route{}, fmt.Errorf("no route %q; there are %s", name, strings.Join(Names(), ", "))
}

// Names lists the routes.
func Names() []string {
	var names []string
	for _, r := range routes {
		names = append(names, r.Name)
	}
	return names
}
