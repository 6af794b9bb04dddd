package route

import (
	"fmt"
	"slices"

	"rpclab/internal/suggest"
)

// routes are all routes, in the order in which help shows them.
var routes = []Route{Direct, ClusterIP, Forwarder, Headless, EndpointSlice, KubeResolver, XDS, Envoy, HAProxy, Nginx, NodePort, Linkerd, Istio, IstioXDS}

// Lookup finds a route by name.
func Lookup(name string) (Route, error) {
	for _, r := range routes {
		if r.Name == name {
			return r, nil
		}
	}
	return Route{}, fmt.Errorf("no route %q%s", name, suggest.DidYouMean(name, Names()))
}

// All lists the routes in the order in which help shows them.
func All() []Route { return slices.Clone(routes) }

// Names lists the names of the routes.
func Names() []string {
	var names []string
	for _, r := range routes {
		names = append(names, r.Name)
	}
	return names
}
