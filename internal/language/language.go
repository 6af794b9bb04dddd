// Package language builds the servers and callers in other languages, and knows their commands
// (servers/CONTRACT.md).
package language

import (
	"fmt"
	"math"
	"os/exec"

	"rpclab/internal/suggest"
)

// Model is a server of a language: a framework and its threading.
type Model struct {
	Name string // flask
	REST bool   // it serves REST
	// HTTP2 means that it serves REST over HTTP/2 in clear text, too.
	HTTP2 bool
	TCP   bool // it serves messages over plain TCP; neither: gRPC
	// Threads is how many calls one server handles at once by default (--workers sets it), while
	// others queue; 0: unlimited.
	Threads int
}

// The protocols of models.
const (
	GRPC = "grpc"
	REST = "rest"
	TCP  = "tcp"
)

// Protocol is the protocol of the model's server.
func (m Model) Protocol() string {
	switch {
	case m.REST:
		return REST
	case m.TCP:
		return TCP
	}
	return GRPC
}

// Language is a programming language of servers and callers.
type Language struct {
	Name   string
	Models []Model // the default first
	// Memory is how much memory a process of the language uses, in bytes: the resident set at the end of 2 s of calls by
	// four users on a Linux machine with two processors, the largest of the models, rounded up. Most of it is the program
	// and its runtime.
	Memory uint64
	needs  []need
	limits func(cpus int, memory uint64) []string // see [Language.LimitEnv]; nil: none
}

// need is a build tool, and how to install it.
type need struct{ program, remedy string }

// Go is the language of rpclab itself, which needs no build.
const Go = "go"

var languages = []Language{
	{Name: Go, Memory: 75e6, Models: []Model{{Name: "grpc"}, {Name: "rest", REST: true, HTTP2: true}, {Name: "tcp", TCP: true}}, limits: goLimits},
	{
		Name: "python", Memory: 100e6, Models: []Model{{Name: "grpc-sync", Threads: 1}, {Name: "grpc-aio"}, {Name: "flask", REST: true, Threads: 1}, {Name: "starlette", REST: true}},
		needs: []need{{"python3", "install Python 3.11 or newer, with venv (Debian: apt-get install python3-venv)"}},
	},
	{
		Name: "rust", Memory: 20e6, Models: []Model{{Name: "grpc"}, {Name: "grpc-single"}, {Name: "axum", REST: true, HTTP2: true}},
		limits: rustLimits,
		needs:  []need{{"cargo", "install Rust 1.88 or newer, https://rustup.rs"}},
	},
	{
		Name: "java", Memory: 300e6, Models: []Model{
			{Name: "grpc-netty"}, {Name: "grpc-servlet"}, {Name: "rest-blocking", REST: true, Threads: 200}, {Name: "rest-virtual", REST: true}, {Name: "rest-webflux", REST: true},
		},
		limits: javaLimits,
		needs: []need{
			{"javac", "install a JDK, 17 or newer (Debian: apt-get install openjdk-17-jdk-headless)"},
			{"mvn", "install Maven 3.6 or newer (Debian: apt-get install maven)"},
		},
	},
}

// All lists the languages, Go first.
func All() []Language { return languages }

// Names lists the names of the languages.
func Names() []string {
	var names []string
	for _, l := range languages {
		names = append(names, l.Name)
	}
	return names
}

// Lookup finds a language by name.
func Lookup(name string) (Language, error) {
	for _, l := range languages {
		if l.Name == name {
			return l, nil
		}
	}
	return Language{}, fmt.Errorf("no language %q%s", name, suggest.DidYouMean(name, Names()))
}

// Model finds a model of the language by name; empty: the default.
func (l Language) Model(name string) (Model, error) {
	var names []string
	for _, m := range l.Models {
		if m.Name == name || name == "" {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Model{}, fmt.Errorf("servers in %s have no model %q%s", l.Name, name, suggest.DidYouMean(name, names))
}

// MissingTools says how to install each build tool that is missing.
func (l Language) MissingTools() (remedies []string) {
	for _, n := range l.needs {
		if _, err := exec.LookPath(n.program); err != nil {
			remedies = append(remedies, n.program+" is missing: "+n.remedy)
		}
	}
	return remedies
}

// LimitEnv is the environment, NAME=value, by which the language's runtime limits itself to a number
// of processors and bytes (0: no limit), for systems without control groups. Go's limit is the
// target of its garbage collector, Java's the size of its heap, and Python has none.
func (l Language) LimitEnv(cpus float64, memory uint64) (env []string) {
	if l.limits == nil {
		return nil
	}
	return l.limits(int(math.Ceil(cpus)), memory)
}
