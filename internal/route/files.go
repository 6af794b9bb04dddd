package route

import "fmt"

// Demand is the most that a trial asks of a route at once.
type Demand struct {
	Channels int // of all callers
	Calls    int // in flight
	Backends int
	Workers  int // of a proxy
}

// Files is how many files the process has open that has most of them for calls, be it the
// caller or what stands on the route, and for what.
type Files func(Demand) (n int, what string)

// A file descriptor is a connection here, or one of the few that a program needs besides.
const (
	forwarderFiles = 6    // both connections of a channel, and a pipe for each way to splice by
	envoyFiles     = 8    // of a worker: listener, timers, events
	envoyStreams   = 1024 // calls on a connection to a backend, after which it makes another
	haproxyStreams = 100  // the same
	nginxKept      = 320  // idle connections to backends: keepalive in its configuration
	nginxMost      = 16384
)

// FilesFor says how many open files the route takes for a demand, and for what.
func (r Route) FilesFor(d Demand) (n int, what string) {
	if r.Files == nil { // a connection for each channel
		d.Backends = 1
		return eachBackend(0)(d)
	}
	return r.Files(d)
}

// eachBackend is a connection for each channel to each backend, and own files besides.
func eachBackend(own int) Files {
	return func(d Demand) (int, string) {
		return d.Channels * (d.Backends + own), fmt.Sprintf("for %d channels at once with %d connections each", d.Channels, d.Backends)
	}
}

func filesOfForwarder(d Demand) (int, string) {
	return forwarderFiles * d.Channels, fmt.Sprintf("the forwarder, for %d channels at once", d.Channels)
}

func filesOfEnvoy(d Demand) (int, string) {
	return d.Channels + d.Calls/envoyStreams + d.Workers*(d.Backends+envoyFiles),
		fmt.Sprintf("Envoy, for %d channels at once and %d calls in flight", d.Channels, d.Calls)
}

// filesOfHAProxy knows that HAProxy accepts only half as many connections as it may have files:
// it keeps one for the other side of each.
func filesOfHAProxy(d Demand) (int, string) {
	return 2*d.Channels + d.Calls/haproxyStreams + d.Workers*d.Backends,
		fmt.Sprintf("HAProxy, for %d channels at once and %d calls in flight", d.Channels, d.Calls)
}

// filesOfNginx knows that a connection of nginx's carries one call at a time, and that one worker may
// have all of them.
func filesOfNginx(d Demand) (int, string) {
	return d.Channels + d.Calls + nginxKept,
		fmt.Sprintf("a worker of nginx, for %d channels at once and a connection for each of %d calls in flight", d.Channels, d.Calls)
}
