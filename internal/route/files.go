package route

import "fmt"

// Demand is what a trial uses of a route at one time, at most.
type Demand struct {
	Channels int // of all callers
	Calls    int // in flight
	Backends int
	Workers  int // of a proxy
	// CallPerConnection says that a connection carries one call at a time, as over HTTP/1.1.
	CallPerConnection bool
}

// FilesFunc returns the number of open files of the process that opens the most for calls (a caller or
// a component of the route), and what it opens them for.
type FilesFunc func(Demand) (n int, what string)

// Almost every open file is a connection.
const (
	forwarderFiles       = 6    // two connections of a channel, and a pipe for each direction to splice
	envoyFiles           = 8    // for each worker: listener, timers, events
	envoyStreams         = 1024 // calls on one connection to a backend, before Envoy opens another
	haproxyStreams       = 100  // the same for HAProxy
	nginxIdleConnections = 320  // to backends: keepalive in the configuration
	nginxMaxConnections  = 16384
)

// eachBackend counts a connection from each channel to each backend, and more files for each channel.
func eachBackend(more int) FilesFunc {
	return func(d Demand) (int, string) {
		return d.Channels * (d.Backends + more), fmt.Sprintf("for %d channels at once with %d connections each", d.Channels, d.Backends)
	}
}

func filesOfForwarder(d Demand) (int, string) {
	return forwarderFiles * d.Channels, fmt.Sprintf("the forwarder, for %d channels at once", d.Channels)
}

func filesOfEnvoy(d Demand) (int, string) {
	if d.CallPerConnection {
		return 2*d.Channels + d.Workers*envoyFiles, fmt.Sprintf("Envoy, for two connections of each of %d calls in flight", d.Calls)
	}
	return d.Channels + d.Calls/envoyStreams + d.Workers*(d.Backends+envoyFiles),
		fmt.Sprintf("Envoy, for %d channels at once and %d calls in flight", d.Channels, d.Calls)
}

// filesOfHAProxy counts two files for each channel: HAProxy reserves one for the connection
// to a backend.
func filesOfHAProxy(d Demand) (int, string) {
	if d.CallPerConnection {
		return 2 * d.Channels, fmt.Sprintf("HAProxy, for two connections of each of %d calls in flight", d.Calls)
	}
	return 2*d.Channels + d.Calls/haproxyStreams + d.Workers*d.Backends,
		fmt.Sprintf("HAProxy, for %d channels at once and %d calls in flight", d.Channels, d.Calls)
}

// filesOfNginx counts a connection to a backend for each call, all in one worker: an nginx
// connection carries one call at a time.
func filesOfNginx(d Demand) (int, string) {
	return d.Channels + d.Calls + nginxIdleConnections,
		fmt.Sprintf("a worker of nginx, for %d channels at once and a connection for each of %d calls in flight", d.Channels, d.Calls)
}
