// Package cluster is where servers run: what a cluster can be asked to do, and
// how it publishes the endpoints that are ready.
package cluster

import (
	"context"
	"time"

	"rpclab/internal/security"
)

// Cluster runs servers, and who calls them. [rpclab/internal/cluster/local] runs them as
// processes.
type Cluster interface {
	// Deploy starts servers and returns when all of them are ready. It fails with
	// the last log lines of the server that did not start.
	Deploy(context.Context, Spec) (Deployment, error)
	// Run starts a crew beside the backends and returns when every member can be talked to.
	Run(context.Context, Crew) ([]Member, error)
	// Close ends every server and every crew of the cluster and frees everything it holds.
	Close() error
}

// Spec is what to deploy.
type Spec struct {
	Name string // of the service: greeter
	// Command runs the server program, one of another language than ours; nil: rpclab server.
	Command  []string
	Speaks   string   // rest or tcp; else gRPC: how it is asked whether it serves
	Args     []string // of the server program, without identity and address
	Replicas int      // at least 1
	Drain    time.Duration
	Zones    int // that backends are dealt out to in turn; 0: one
	// CPUs and Memory (bytes) are what a backend may use; 0: all there is.
	CPUs   float64
	Memory uint64
	// Secure is what the servers wait for on standard input before they serve; nil: nothing.
	Secure *security.Party
	// Runtime is the environment, NAME=value, by which the server's own runtime keeps to CPUs
	// and Memory, for where nothing else makes it.
	Runtime []string
	// Mesh is the service mesh whose proxy stands before each backend: linkerd, istio;
	// empty: none.
	Mesh string
	// NodePort says that every node takes calls too, from wherever it can be reached.
	NodePort bool
}

// Deployment is a running service. A backend that dies is replaced, as a
// Kubernetes Deployment would, under a new identity and address. What is done to some
// backends returns the identities of those that it hit.
type Deployment interface {
	// Service says under which names the endpoints are published.
	Service() Service
	// Endpoints is their in-process form.
	Endpoints() *Endpoints
	// Scale adds backends, or stops some gracefully, and returns without waiting
	// until they are ready or gone: watch the endpoints for that.
	Scale(ctx context.Context, replicas int) ([]string, error)
	// Kill ends the n oldest ready backends at once (SIGKILL).
	Kill(ctx context.Context, n int) ([]string, error)
	// Pause stops the n oldest ready backends in mid-work (SIGSTOP); Resume lets all
	// go on.
	Pause(ctx context.Context, n int) ([]string, error)
	Resume(ctx context.Context) error
	// Slow makes the n oldest ready backends add by to every answer, or take times as long
	// for it; neither ends that, on all.
	Slow(ctx context.Context, n int, by time.Duration, times float64) ([]string, error)
	// Stop ends the n oldest ready backends gracefully; each is replaced.
	Stop(ctx context.Context, n int) ([]string, error)
	// Roll replaces every backend, one after the other, each new one ready before an old
	// one is told to stop. It returns at once: watch the endpoints. A new one that does not
	// become ready is a loss, and ends it.
	Roll(context.Context) ([]string, error)
	// Fail makes the n oldest ready backends answer every call at once with a code:
	// UNAVAILABLE. They stay ready.
	Fail(ctx context.Context, n int, code string) ([]string, error)
	// Flap turns the health of the n oldest ready backends to and fro, not serving first.
	Flap(ctx context.Context, n int, every time.Duration) ([]string, error)
	// Cut cuts what is between callers and the n oldest ready backends: by RST the
	// connections that there are; else packets to and from them vanish. The cluster's own
	// probe still reaches them.
	Cut(ctx context.Context, n int, reset bool) ([]string, error)
	// MisleadDNS makes the name server slow, or lie.
	MisleadDNS(delay time.Duration, lie bool) error
	// Recover ends Slow, Fail, Flap, Cut and MisleadDNS.
	Recover(context.Context) error
	// Served is how many calls each backend began since ResetUsage, those too that ended
	// after they were told to stop. One that was killed, or is paused, cannot be asked and
	// is left out.
	Served() map[string]uint64
	// ResetUsage starts a new measurement of resources; Usage reads it, by identity.
	ResetUsage() error
	Usage() map[string]Usage
	// Losses says of every backend that ended unasked, or did not start, which one and
	// why, since ResetUsage.
	Losses() []string
	// Remove ends the backends and returns when they are gone.
	Remove() error
}

// Nodes is what a [Deployment] can besides where backends run on nodes. Both close the
// nodes of the oldest ready backends to new ones until the deployment is removed.
type Nodes interface {
	// Drain closes n nodes and evicts the backends that are there.
	Drain(ctx context.Context, n int) ([]string, error)
	// Cordon closes n nodes and hits no backend.
	Cordon(ctx context.Context, n int) ([]string, error)
}

// Bounded is what a [Deployment] can besides where its backends' memory can be looked at at
// any time.
type Bounded interface {
	// Bounds says what keeps backends to their limits: cgroup v1, cgroup v2 or pinned (to
	// processors, and by their runtimes); empty: they have none.
	Bounds() string
	// Memory is what is resident of all backends now, in bytes.
	Memory() uint64
}

// Meshed is what a [Cluster] can besides where meshes put proxies into pods.
type Meshed interface {
	// Proxies is what the proxies of a mesh used in their lives, by the pod that each is in:
	// CPU time, and as MaxRSS the resident memory of the moment. It may take half a minute,
	// and fails where the nodes may not be asked.
	Proxies(ctx context.Context, mesh string) (map[string]Usage, error)
}

// Usage is what one backend, or what stands before them, used since ResetUsage, or since
// it began.
type Usage struct {
	CPU    time.Duration // user and system time
	MaxRSS uint64        // peak of resident memory, bytes
	// Charged is the peak of what counts against its memory limit, bytes; 0: it has no control
	// group of its own.
	Charged uint64
	// Throttled is how long its container waited because its quota of CPU was used up, and
	// Stolen which share a hypervisor took of what all processes of its node wanted; 0 on
	// this machine, whose own look says that of it as a whole.
	Throttled time.Duration
	Stolen    float64
	// Connections is how many connections each worker of a proxy took since it began; nil:
	// it is none, or does not say.
	Connections []uint64
}

// Service is how a caller finds the endpoints, in any process of this machine or
// pod of this cluster. It crosses processes as JSON.
type Service struct {
	Name      string `json:"name"`      // greeter
	Namespace string `json:"namespace"` // default
	Port      int    `json:"port"`      // of every backend; 0: each has its own
	// Host is the DNS name of the service: <name>.rpclab.local. Of a Kubernetes' it is, as VIP,
	// without the cluster's domain, <name>.<namespace>.svc, which pods know.
	Host string `json:"host"`
	// DNS is the address (host:port, UDP and TCP) of the name server for Host; empty: the
	// system's own.
	DNS string `json:"dns"`
	// API is the base URL of the EndpointSlice API (discovery.k8s.io/v1). One of https is a
	// Kubernetes' own, asked as the pod's service account.
	API string `json:"api"`
	// VIP is the name or address of the service's virtual IP; empty: the cluster has none,
	// and callers choose as it would.
	VIP string `json:"vip,omitempty"`
	// NodePort (host:port) takes calls at any node; empty: there are no nodes.
	NodePort string `json:"node_port,omitempty"`
	// Via is the proxy before the service (host:port), where a route has one.
	Via string `json:"via,omitempty"`
	// XDS is the control plane (host:port), where a route has one.
	XDS string `json:"xds,omitempty"`
}
