package cluster

import "io"

// Crew is so many equal programs that run beside the backends, such as callers. A
// program is a command of rpclab that takes orders on its standard input and reports on
// its standard output, in lines.
type Crew struct {
	Name  string   // caller, gateway: of its processes or pods
	Count int      // at least 1
	Args  []string // of rpclab: [caller]
	// Sidecar is the arguments of a second program for each member, which shares its
	// loopback addresses; nil: none.
	Sidecar []string
	// Mesh is the service mesh whose proxy stands beside each member: linkerd, istio;
	// empty: none.
	Mesh string
	// Watches says that a program of each member watches the EndpointSlice API, and needs
	// leave for it.
	Watches bool
}

// Member is one program of a crew, and its sidecar where it has one.
type Member struct {
	Process
	Sidecar Process // nil: none
}

// Process is a running program, on this machine or in a pod.
type Process interface {
	// Name is unique in the cluster, for messages and results: caller-0.
	Name() string
	// Host is the address at which other processes of the cluster reach it: 127.0.0.1, or
	// the pod's.
	Host() string
	// In takes orders. Closing it, or this program's end, ends the process.
	In() io.WriteCloser
	// Out is what it reports; it ends when the process does.
	Out() io.Reader
	// Done closes when the process is gone, and Err then says how it ended.
	Done() <-chan struct{}
	Err() error
	// Log is the last lines that it wrote besides its reports.
	Log() string
	// Kill ends the process at once and returns when it is gone.
	Kill()
}
