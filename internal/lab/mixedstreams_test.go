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
