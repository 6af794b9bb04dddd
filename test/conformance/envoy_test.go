package conformance

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/tool"
	"rpclab/internal/wire"
)

// envoyWith runs one thread of Envoy with a configuration of testdata.
func envoyWith(t *testing.T, p proxy, configuration string) []string {
	return []string{
		installed(t, tool.Envoy), "-c", p.configured(t, configuration),
		"--concurrency", "1", "--disable-hot-restart", "--log-level", "warning",
	}
}

func envoy(t *testing.T, p proxy) []string { return envoyWith(t, p, "envoy.yaml") }

// TestDirectResponsesOfEnvoyAreAnswers needs no server: Envoy returns a fixed body, which its HTTP/1.1 bridge turns into
// a gRPC answer with trailers.
func TestDirectResponsesOfEnvoyAreAnswers(t *testing.T) {
	p := proxy{Listen: free(t), Inner: free(t), Dir: t.TempDir()}
	start(t, p.Listen, envoyWith(t, p, "envoy-direct.yaml")...)
	call := greet()
	call.Check = func(n uint64, answer []byte, backend string) error {
		reply := &rpclabv1.HelloReply{}
		if err := proto.Unmarshal(answer, reply); err != nil {
			return err
		}
		if reply.Message != "Hello, all" || reply.Backend != "envoy" || backend != "envoy" {
			return fmt.Errorf("call %d: wrong response %q of %q, trailer %q", n, reply.Message, reply.Backend, backend)
		}
		return nil
	}
	answered(t, load(t, p.Listen, call, calls), []string{"envoy"}, calls)
}

// TestTrailersOnlyResponsesOfEnvoyAreErrors: Envoy answers a gRPC call with a direct
// response, whose body becomes the status message.
func TestTrailersOnlyResponsesOfEnvoyAreErrors(t *testing.T) {
	p := proxy{Listen: free(t), Dir: t.TempDir()}
	start(t, p.Listen, envoyWith(t, p, "envoy-refuses.yaml")...)
	m := load(t, p.Listen, wire.Call{Method: rpclabv1.Greeter_SayHello_FullMethodName}, calls)
	if m.Calls != calls || m.Errors["UNAVAILABLE"] != calls || m.Samples["UNAVAILABLE"] != "closed for today" {
		t.Errorf("%d calls, errors %v %v", m.Calls, m.Errors, m.Samples)
	}
}
