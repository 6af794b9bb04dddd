// Package cluster defines where servers and callers run, what a cluster can do with them,
// and how it publishes their endpoints.
package cluster

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"rpclab/internal/cluster/faultproxy"
	"rpclab/internal/measure"
	"rpclab/internal/security"
)

// Cluster runs servers and callers. [rpclab/internal/cluster/local] runs them as processes,
// [rpclab/internal/cluster/kubernetes] as pods.
type Cluster interface {
	// Deploy starts servers and returns when all of them are ready. It fails with
	// the last log lines of the server that did not start.
	Deploy(context.Context, Spec) (Deployment, error)
	// StartCallers starts callers and returns when all of them accept requests.
	StartCallers(context.Context, CallerSpec) ([]Caller, error)
	// Close ends all servers and callers and releases all resources of the cluster.
	Close() error
}

// Spec is what to deploy.
type Spec struct {
	Name string // of the service: greeter
	// Program is a server of the user's; nil: rpclab's own, which Command, Protocol, Args, Security and
	// RuntimeEnv describe.
	Program *Program
	// Addresses (host:port) is where the service runs already, anywhere; nil: rpclab starts Replicas.
	// The identity of each backend is its address. Each must be ready when it is deployed, by Ready.
	Addresses []string
	Ready     Ready
	// ReadyTimeout limits the time until all Addresses are ready; 0: 5 s, and less if nothing listens.
	ReadyTimeout time.Duration
	// Existing is a Service of Kubernetes, NAMESPACE/NAME, whose pods run already; empty: rpclab starts Replicas.
	Existing string
	// Port is the port of Existing, or that at which the pods of a Program accept calls; 0: not set.
	Port int
	// Listen is the address (host:port) of the only replica on this machine; empty: one that is free.
	Listen string
	// FaultProxy puts a fault proxy before each backend of a Program, which can then be slow and fail.
	FaultProxy bool
	// Cut makes it possible to cut the connections of rpclab's own servers in pods.
	Cut bool
	// ProxyTLS is how fault proxies encrypt connections; nil: calls are in clear text.
	ProxyTLS *faultproxy.TLS
	// Command runs a server program of another language; nil: rpclab server.
	Command  []string
	Protocol string   // of the health check: rest or tcp; else gRPC
	Args     []string // of the server program, without identity and address
	// NextArgs replace Args from the first rollout on; nil: Args stay.
	NextArgs []string
	// Env is added to the environment of rpclab's own server, NAME=value.
	Env      []string
	Replicas int // at least 1
	Drain    time.Duration
	Zones    int // to which backends are assigned in turn; 0: one
	// CPUs and Memory (bytes) are the limits of a backend; 0: none.
	CPUs   float64
	Memory uint64
	// Security is sent to the servers, which wait for it before they serve; nil: none.
	Security *security.Config
	// RuntimeEnv is environment variables, NAME=value, by which the server's runtime limits
	// itself to CPUs and Memory where nothing else enforces them.
	RuntimeEnv []string
	// Mesh is the service mesh whose proxy is injected into each backend's pod: linkerd, istio;
	// empty: none.
	Mesh string
	// NodePort opens a port for calls on every node.
	NodePort bool
}

// Deployment is a running service. It replaces a backend that exits by one with a new
// identity and address, as a Kubernetes Deployment does. Methods that affect some backends
// return their identities.
type Deployment interface {
	// Service is how callers find the endpoints.
	Service() Service
	// Endpoints is the set of endpoints in this process.
	Endpoints() *Endpoints
	// Scale adds backends or stops some gracefully. It does not wait until they are ready or
	// have exited: watch the endpoints for that.
	Scale(ctx context.Context, replicas int) ([]string, error)
	// Kill ends the n oldest ready backends with SIGKILL.
	Kill(ctx context.Context, n int) ([]string, error)
	// Pause suspends the n oldest ready backends (SIGSTOP); Resume resumes all (SIGCONT).
	Pause(ctx context.Context, n int) ([]string, error)
	Resume(ctx context.Context) error
	// Slow makes the n oldest ready backends answer later: by a duration, or by a factor
	// (times). With neither it ends the fault on all backends.
	Slow(ctx context.Context, n int, by time.Duration, times float64) ([]string, error)
	// Stop ends the n oldest ready backends gracefully; each is replaced.
	Stop(ctx context.Context, n int) ([]string, error)
	// Rollout replaces every backend, one at a time. Each new backend is ready before an old
	// one is stopped; one that does not become ready is a failure and ends the rollout.
	// Rollout does not wait: watch the endpoints. The new backends, and all later ones, run next; nil: the
	// program as it is.
	Rollout(ctx context.Context, next *Program) ([]string, error)
	// Fail makes the n oldest ready backends answer a share of calls (0 to 1), drawn at random, with an error
	// code, such as UNAVAILABLE. They stay ready.
	Fail(ctx context.Context, n int, code string, share float64) ([]string, error)
	// Flap alternates the health of the n oldest ready backends, NOT_SERVING first.
	Flap(ctx context.Context, n int, every time.Duration) ([]string, error)
	// Cut breaks the network between callers and the n oldest ready backends. With reset it
	// resets the open connections; else packets to and from the backends are dropped. Health
	// checks of the cluster still reach them.
	Cut(ctx context.Context, n int, reset bool) ([]string, error)
	// SetDNSFault makes the name server slow, or return wrong addresses.
	SetDNSFault(delay time.Duration, lie bool) error
	// Recover ends Slow, Fail, Flap, Cut and SetDNSFault.
	Recover(context.Context) error
	// CallCounts is how many calls each backend has begun since ResetUsage, also those that
	// ended after its SIGTERM. Backends that were killed or are paused are left out, and all of a Program.
	CallCounts() map[string]uint64
	// ResetUsage starts a new measurement of resources; Usage reads it, by identity.
	ResetUsage() error
	Usage() map[string]Usage
	// Failures describes backends that exited unexpectedly, or did not start, since
	// ResetUsage.
	Failures() []string
	// Remove ends the backends and returns when they have exited.
	Remove() error
}

// Nodes is implemented by a [Deployment] whose backends run on nodes. Both methods cordon the
// nodes of the oldest ready backends until the deployment is removed.
type Nodes interface {
	// Drain cordons n nodes and evicts their backends.
	Drain(ctx context.Context, n int) ([]string, error)
	// Cordon cordons n nodes and affects no backend.
	Cordon(ctx context.Context, n int) ([]string, error)
}

// ErrOutOfReach means that an event cannot reach the servers, because rpclab did not start their processes.
var ErrOutOfReach = errors.New("rpclab did not start the process of the server")

// Unmeasured is implemented by a [Deployment] that may be unable to measure its backends.
type Unmeasured interface {
	// WhyUsageUnknown says why Usage is nil; empty: it is not.
	WhyUsageUnknown() string
}

// ResourceLimits is implemented by a [Deployment] that knows how its limits are enforced.
type ResourceLimits interface {
	// LimitMechanism says what enforces the limits of backends: cgroup v1, cgroup v2 or
	// pinned (to processors, and by their runtimes); empty: they have none.
	LimitMechanism() string
	// ResidentMemory is the present resident memory of all backends, in bytes.
	ResidentMemory() uint64
}

// LocalProcesses is implemented by a [Deployment] whose backends are processes of this machine.
type LocalProcesses interface {
	// Processes returns the processes of all backends that are not stopping.
	Processes() []measure.Watched
}

// FoundProcesses is implemented by a [Deployment] whose backends rpclab may not have started, perhaps on this machine.
type FoundProcesses interface {
	// FoundProcesses returns the processes of this machine that listen at the addresses of the backends. known is
	// false if such a process is not known.
	FoundProcesses() (pids []int, known bool)
}

// FaultProxies is implemented by a [Deployment] that can have a fault proxy before each backend.
type FaultProxies interface {
	// FaultProxies returns the proxies before all backends that are not stopping; nil: there are none.
	FaultProxies() []FaultProxy
	// FaultProxyCPU is the CPU time that all fault proxies have used on this machine, also those that exited.
	FaultProxyCPU() time.Duration
}

// FaultProxy is the process of a fault proxy.
type FaultProxy struct {
	PID           int            // 0: it runs in a pod
	Addr, Backend netip.AddrPort // of the proxy, which is published, and of the backend
	// CPU is the CPU time that the process has used since some moment.
	CPU func() (time.Duration, error)
}

// MeshProxies is implemented by a [Cluster] whose meshes inject proxies into pods.
type MeshProxies interface {
	// ProxyUsage is the CPU time that the proxies of a mesh have used since they started, by
	// pod, and as MaxRSS their present resident memory. It may take half a minute, and fails
	// without permission to ask the nodes.
	ProxyUsage(ctx context.Context, mesh string) (map[string]Usage, error)
}

// Images is implemented by a [Cluster] whose servers run in images.
type Images interface {
	// ImageIDs returns the IDs of the images that servers have had, by name of the image.
	ImageIDs() map[string][]string
}

// Usage is the resources of one backend or component since ResetUsage, or since it started.
type Usage struct {
	CPU    time.Duration // user and system time
	MaxRSS uint64        // peak of resident memory, bytes
	// Charged is the peak of the memory that counts against its limit, bytes; 0: it has no
	// control group.
	Charged uint64
	// Throttled is how long its container waited because its CPU quota was used up. Stolen is
	// the share of the CPU time of its node that other virtual machines used (steal time); 0 on this
	// machine, which rpclab measures as a whole.
	Throttled time.Duration
	Stolen    float64
	// Connections is how many connections each worker of a proxy has accepted since it
	// started; nil: not known.
	Connections []uint64
}

// Service is how a caller finds the endpoints, in any process of this machine or
// pod of this cluster. It crosses processes as JSON.
type Service struct {
	Name      string `json:"name"`      // greeter
	Namespace string `json:"namespace"` // default
	Port      int    `json:"port"`      // of every backend; 0: each has its own
	// Host is the DNS name of the service: <name>.rpclab.local. On Kubernetes Host and VIP are
	// <name>.<namespace>.svc, without the cluster's domain, which pods know.
	Host string `json:"host"`
	// Ready is how many backends were ready when they were deployed; 0: the name server knows them at once.
	Ready int `json:"ready,omitempty"`
	// DNS is the address (host:port, UDP and TCP) of the name server for Host; empty: the
	// system's own.
	DNS string `json:"dns"`
	// API is the base URL of the EndpointSlice API (discovery.k8s.io/v1). One with https is a
	// Kubernetes API server, used with the pod's service account.
	API string `json:"api"`
	// VIP is the name or address of the service's virtual IP; empty: the cluster has none,
	// and callers pick backends instead.
	VIP string `json:"vip,omitempty"`
	// VIPPort is the port of VIP; 0: Port.
	VIPPort int `json:"vip_port,omitempty"`
	// NodePort (host:port) accepts calls on a node; empty: there are no nodes.
	NodePort string `json:"node_port,omitempty"`
	// Proxy is the proxy before the service (host:port), where a route has one.
	Proxy string `json:"via,omitempty"`
	// XDS is the control plane (host:port), where a route has one.
	XDS string `json:"xds,omitempty"`
}
