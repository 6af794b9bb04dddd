package main

import "time"

// generator is one load generator. Each field that is a function says how it is asked
// to do something, or what its report says.
type generator struct {
	Name, Version string
	Calls         [2]int // that one run makes: against the answerer, against the greeter
	// Note says in what its calls or its figures differ from those of the others.
	Note string
	// Plain says that it makes requests over HTTP/1.1, not calls by gRPC.
	Plain bool
	// Timed says that it runs for a time, not for a number of calls.
	Timed bool
	// Health says that it calls grpc.health.v1.Health/Check, for want of the greeter.
	Health bool

	run  func(addr string, calls int, s shape) command
	rate func(addr string, perSecond int, d time.Duration) command
	read func(report) (outcome, error)
}

// command is a program to run; report is the file that it writes, if it does.
type command struct {
	args, env []string
	report    string
}

// report is what a generator said: on standard output and in its file.
type report struct{ stdout, file []byte }

// outcome is what is read from a report.
type outcome struct {
	answered int
	p90, p99 time.Duration
	late     time.Duration // p99 of how late calls were made, by who says it
	perCall  time.Duration // CPU, by who says it: see [cost]
}

// shape is how calls are spread: Streams in flight on each of Connections.
type shape struct{ Connections, Streams int }

// shapes are those in which a target is called.
func shapes(target int) []shape {
	if plain(target) {
		return []shape{{50, 1}, {10, 1}}
	}
	return []shape{{10, 5}, {1, 50}}
}

// single is that of a run with one call, which shows what it takes to start.
var single = shape{1, 1}

const (
	method = "rpclab.v1.Greeter/SayHello"
	ours   = "rpclab load"
)

// The servers that are called: two by gRPC and two over HTTP/1.1, of each the fastest
// answerer at hand first.
const (
	theAnswerer = iota
	theGreeter
	thePlainAnswerer
	theWebServer
	targets
)

func plain(target int) bool { return target >= thePlainAnswerer }

// of are the generators that call a target.
func of(peers []generator, target int) (group []generator) {
	for _, g := range peers {
		if g.Plain == plain(target) {
			group = append(group, g)
		}
	}
	return group
}

// address is the server that a generator is to call.
func (g generator) address(s *servers, target int) string {
	switch {
	case target == thePlainAnswerer:
		return s.plain
	case target == theWebServer:
		return s.web
	case target == theGreeter:
		return s.greeter
	case g.Health:
		return s.health
	}
	return s.answerer
}
