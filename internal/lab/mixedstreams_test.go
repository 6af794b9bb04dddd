package lab

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/experiment"
)

// A service file with proto files says which methods stream, so a mix that a caller cannot make ends before the run.
func TestACallerThatMixesUnaryMethodsOnly(t *testing.T) {
	dir, err := filepath.Abs("../../api")
	if err != nil {
		t.Fatal(err)
	}
	const document = `experiment: x
question: q?
services:
  hello:
    server: {addresses: ["127.0.0.1:1"]}
    proto: [%s]
    import_paths: [%s]
    calls:
      one: {method: rpclab.v1.Greeter/SayHello}
      all: {method: rpclab.v1.Greeter/Greetings}
defaults: {service: hello, workload: %s, route: direct, load: {burst: 5}}
arms: {a: {caller: {kind: %s}}}
`
	refused := "x.yaml:10:21: the caller wire makes several calls of unary methods only, and call all is of a streaming method: " +
		"set caller.kind to grpc-go (in rpclab load: add --engine grpc-go)"
	for _, c := range []struct{ workload, kind, want string }{
		{"{mix: {one: 1, all: 1}}", "wire", refused},
		{"{flow: [one, all]}", "wire", refused},
		{"{call: all}", "wire", ""},
		{"{mix: {one: 1, all: 1}}", "grpc-go", ""},
	} {
		plan, err := experiment.Expand("x.yaml", fmt.Appendf(nil, document, filepath.Join(dir, "rpclab/v1/greeter.proto"), dir, c.workload, c.kind), experiment.Options{Rounds: 1}, Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		switch _, err := Resolve(plan); {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)):
			t.Errorf("%s with the caller %s: %v, want %q", c.workload, c.kind, err, c.want)
		}
	}
}

func TestTheCallerWireReadsNoFieldOfIdentity(t *testing.T) {
	const document = `experiment: x
question: q?
services:
  hello: {server: {addresses: ["127.0.0.1:1"]}, identity: {field: server.name}, calls: {one: {method: a.B/C}, list: {http: GET, path: /}}}
defaults: {service: hello, workload: {call: %s}, route: direct, load: {burst: 5}}
arms: {a: {caller: {kind: %s}}}
`
	const refused = "x.yaml:4:59: the caller wire does not read identity.field: name a header or a trailer, or set caller.kind to "
	for _, c := range []struct{ call, kind, want string }{
		{"one", "wire", refused + "grpc-go (in rpclab load: add --engine grpc-go)"},
		{"list", "wire", refused + "http"},
		{"one", "grpc-go", ""},
		{"list", "http", ""},
	} {
		plan, err := experiment.Expand("x.yaml", fmt.Appendf(nil, document, c.call, c.kind), experiment.Options{Rounds: 1}, Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := Resolve(plan); err != nil {
			got = experiment.InDocument(err).Error()
		}
		if got != c.want {
			t.Errorf("call %s with the caller %s: %q, want %q", c.call, c.kind, got, c.want)
		}
	}
}
