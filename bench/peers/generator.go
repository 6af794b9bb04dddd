package main

import "time"

// generator is a load generator.
type generator struct {
	Name, Version string
	Calls         [2]int // of one run: to the answerer, to the greeter
	// Note says how its calls or figures differ from those of the other generators.
	Note string
	// Plain says that it makes HTTP/1.1 requests instead of gRPC calls.
	Plain bool
	// Timed says that it runs for a duration, not for a number of calls.
	Timed bool
	// Health says that it calls grpc.health.v1.Health/Check, because it cannot call the greeter.
	Health bool

	// run makes calls as fast as possible, rate makes calls at a rate, and read parses the report.
	run  func(addr string, calls int, s shape) command
	rate func(addr string, perSecond int, d time.Duration) command
	// agree makes calls as run does, to the servers that wait, and reports percentiles; nil: it does not.
	agree func(addr string, calls int, s shape) command
	read  func(report) (outcome, error)
}

// command is a program to run. report is the file that it writes; empty: none.
type command struct {
	args, env []string
	report    string
}

// report is the output of a generator.
type report struct{ stdout, file []byte }

// outcome is the contents of a report.
type outcome struct {
	answered int
	p50      time.Duration // 0: not reported
	p90, p99 time.Duration
	late     time.Duration // p99 of lateness; 0: not reported
	perCall  time.Duration // CPU time, see [cost]; 0: not reported
}

// shape is the number of connections, and the calls in flight on each.
type shape struct{ Connections, Streams int }

// shapes are the shapes in which generators call a target.
func shapes(target int) []shape {
	if plain(target) {
		return []shape{{50, 1}, {10, 1}}
	}
	return []shape{{10, 5}, {1, 50}}
}

// single is the shape of the run with one call, which measures the cost of the start.
var single = shape{1, 1}

const (
	method = "rpclab.v1.Greeter/SayHello"
	ours   = "rpclab load"
)

// The target servers: two for gRPC and two for HTTP/1.1, the faster first.
const (
	answererTarget = iota
	greeterTarget
	plainAnswererTarget
	webServerTarget
	targets
)

// plain says whether a target serves HTTP/1.1.
func plain(target int) bool { return target >= plainAnswererTarget }

// generatorsFor are the generators that call a target.
func generatorsFor(peers []generator, target int) (group []generator) {
	for _, g := range peers {
		if g.Plain == plain(target) {
			group = append(group, g)
		}
	}
	return group
}

// address is the address of the server that a generator calls.
func (g generator) address(s *servers, target int) string {
	switch {
	case target == plainAnswererTarget:
		return s.plain
	case target == webServerTarget:
		return s.web
	case target == greeterTarget:
		return s.greeter
	case g.Health:
		return s.health
	}
	return s.answerer
}
