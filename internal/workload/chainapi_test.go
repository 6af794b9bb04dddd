package workload_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/workload"
)

// TestAnOldClientOnEachVersionOfTheAPI calls servers with the messages, names and paths of v1.
func TestAnOldClientOnEachVersionOfTheAPI(t *testing.T) {
	for api, want := range map[string]struct {
		code, body string
		value      uint32 // of the response after 41
		status     int
	}{
		workload.V1:    {"OK", `{"value":42}`, 42, 200},
		workload.BothV: {"OK", `{"value":42}`, 42, 200},
		workload.V2:    {"Unimplemented", "404 page not found", 0, 404},
		// The server reads 0, and the client does not know the field with 1.
		workload.Changed: {"OK", `unknown field`, 0, 400},
	} {
		channel, _, _ := serve(t, &workload.Server{ID: "b1", API: api})
		reply, err := rpclabv1.NewChainClient(channel).Increase(t.Context(), &rpclabv1.Number{Value: 41})
		if code := status.Code(err).String(); code != want.code || reply.GetValue() != want.value {
			t.Errorf("%s: gRPC answers %d with %s (%v), want %d with %s", api, reply.GetValue(), code, err, want.value, want.code)
		}
		url, _ := serveREST(t, &workload.Server{ID: "b1", API: api})
		if status, _, body := ask(t, httpClient(t, false), "POST", url+"/increase", `{"value": 41}`); status != want.status || !strings.Contains(body, want.body) {
			t.Errorf("%s: REST answers %d: %s, want %d: %s", api, status, body, want.status, want.body)
		}
		if api != workload.V2 && api != workload.BothV {
			continue
		}
		after := new(rpclabv1.Number)
		if err := channel.Invoke(t.Context(), "/rpclab.v2.Chain/Increase", &rpclabv1.Number{Value: 41}, after); err != nil || after.Value != 42 {
			t.Errorf("%s: a client of v2 receives %v, %v; want 42", api, after, err)
		}
		if status, _, body := ask(t, httpClient(t, false), "POST", url+"/v2/increase", `{"value": 41}`); status != 200 || body != `{"value":42}` {
			t.Errorf("%s: a client of /v2 receives %d: %s", api, status, body)
		}
	}
}
