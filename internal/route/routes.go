package route

import (
	// The policies that clients know beside their own.
	_ "google.golang.org/grpc/balancer/leastrequest"
	_ "google.golang.org/grpc/balancer/ringhash"
	_ "google.golang.org/grpc/balancer/weightedroundrobin"

	"rpclab/internal/route/settings"
)

// clientSide are the policies of a gRPC client that learns of every backend.
var clientSide = []string{settings.RoundRobin, settings.LeastRequest, settings.WeightedRoundRobin, settings.RingHash, settings.PickFirst}

// fullProxy are the policies of proxies that know of every call which is under way.
var fullProxy = []string{settings.RoundRobin, settings.LeastRequest, settings.LeastConn, settings.Random}

// kubernetes is the cluster that has nodes and meshes.
const kubernetes = "kubernetes"

// routes are all routes, in the order in which help shows them.
var routes = []Route{
	{
		Name:    "direct",
		Doc:     "every connection goes to one backend, the first that was ready; nothing is balanced",
		Watches: true,
		Bytes:   true,
		Open:    openDirect,
	},
	{
		Name:  "clusterip",
		Doc:   "every new connection goes to a random ready backend and stays there, as kube-proxy's iptables mode does",
		Bytes: true,
		Open:  openClusterIP,
	},
	{
		Name:  "forwarder",
		Doc:   "every new connection goes through a forwarder of our own, which takes it to a random ready backend and copies bytes both ways",
		Files: filesOfForwarder,
		Stand: standForwarder,
		Bytes: true,
		Open:  openForwarder,
	},
	{
		Name:     "headless",
		Doc:      "grpc-go's dns resolver finds every ready backend and calls go to them in turn; it asks again only when a connection breaks, at most every 30 s",
		Follows:  true,
		Policies: clientSide, Outliers: true,
		Files: eachBackend(0),
		Open:  openHeadless,
	},
	{
		Name:     "endpointslice",
		Doc:      "a resolver watches the EndpointSlice API, all slices together, and calls go to the ready backends in turn",
		Follows:  true,
		Policies: clientSide, Outliers: true,
		Files:   eachBackend(0),
		Own:     true,
		Watches: true,
		Open:    openEndpointSlice,
	},
	{
		Name:     "kuberesolver",
		Doc:      "the kuberesolver library watches the EndpointSlice API and calls go in turn to the backends of the slice that changed last",
		Follows:  true,
		Files:    eachBackend(1), // its own watch
		Policies: clientSide, Outliers: true,
		Own:     true,
		Watches: true,
		Open:    openKuberesolver,
	},
	{
		Name:     "xds",
		Doc:      "the client itself follows a control plane (xDS without a proxy), which says where every ready backend is and how to spread calls",
		Follows:  true,
		Files:    eachBackend(1), // its own stream to the control plane
		Whole:    true,
		Policies: clientSide, Outliers: true,
		Stand: standXDS, Open: openXDS,
	},
	{
		Name:     "envoy",
		Doc:      "every call goes through Envoy, which follows the same control plane as xds and hands it to the ready backends in turn",
		Policies: []string{settings.RoundRobin, settings.LeastRequest, settings.Random}, Outliers: true, Tool: "envoy",
		Files: filesOfEnvoy,
		Stand: standEnvoy, Open: openProxy,
	},
	{
		Name:     "haproxy",
		Doc:      "every call goes through HAProxy, which hands it to the ready backends in turn and is told of changes through its runtime API",
		Policies: fullProxy, Tool: "haproxy",
		Files: filesOfHAProxy,
		Stand: standHAProxy, Open: openProxy,
	},
	{
		Name:     "nginx",
		Doc:      "every call goes through nginx, which hands it to the ready backends in turn and reads a new configuration when they change",
		Policies: fullProxy, Tool: "nginx",
		Files: filesOfNginx, Connections: nginxMost,
		Stand: standNginx, Open: openProxy,
	},
	{
		Name: "nodeport",
		Doc:  "every new connection goes to a port of one node, which takes it to a random ready backend, perhaps on another node",
		Only: kubernetes, NodePort: true,
		Bytes: true,
		Open:  openNodePort,
	},
	{
		Name: "linkerd",
		Doc:  "every call goes through Linkerd's proxies beside caller and backend, which hand it to the backend that is likely to answer first",
		Only: kubernetes, Mesh: "linkerd",
		Open: openMesh,
	},
	{
		Name: "istio",
		Doc:  "every call goes through Istio's Envoys beside caller and backend, which hand it to the less busy of two backends",
		Only: kubernetes, Mesh: "istio",
		Open: openMesh,
	},
}
