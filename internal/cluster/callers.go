package cluster

import "io"

// CallerSpec describes equal processes, such as callers, that run in the cluster. Each is a
// command of rpclab that reads requests on its standard input and answers on its standard
// output, in lines.
type CallerSpec struct {
	Name  string   // of the processes or pods: caller, gateway
	Count int      // at least 1
	Args  []string // of rpclab: [caller]
	// Sidecar is the arguments of a second process for each caller, which shares its loopback
	// addresses; nil: none.
	Sidecar []string
	// Mesh is the service mesh whose proxy is injected into each caller's pod: linkerd, istio;
	// empty: none.
	Mesh string
	// Watches says that a process watches the EndpointSlice API and needs permission for it.
	Watches bool
}

// Caller is one process of a CallerSpec.
type Caller struct {
	Process
	Sidecar Process // nil: none
}

// Process is a running process, on this machine or in a pod.
type Process interface {
	// Name is unique in the cluster: caller-0.
	Name() string
	// Host is the address at which other processes of the cluster reach it: 127.0.0.1, or
	// the pod's.
	Host() string
	// Stdin receives requests. The process ends when it is closed, and when rpclab exits.
	Stdin() io.WriteCloser
	// Stdout ends with the process.
	Stdout() io.Reader
	// Done closes when the process has exited, and Err then says how.
	Done() <-chan struct{}
	Err() error
	// Log is the last lines of its standard error.
	Log() string
	// Kill ends the process at once and returns when it has exited.
	Kill()
}
