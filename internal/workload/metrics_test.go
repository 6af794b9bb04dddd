package workload_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"rpclab/internal/workload"
)

func TestMetricsCountEveryCall(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	channel, _, _ := serve(t, &workload.Server{ID: "b1", Metrics: listener})
	for range 3 {
		if _, _, err := greet(t.Context(), channel); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := http.Get("http://" + listener.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`grpc_server_handled_total{grpc_code="OK",grpc_method="SayHello",grpc_service="rpclab.v1.Greeter",grpc_type="unary"} 3`,
		`grpc_server_handling_seconds_count{grpc_method="SayHello",grpc_service="rpclab.v1.Greeter",grpc_type="unary"} 3`,
		"process_cpu_seconds_total ",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the metrics do not contain %s", want)
		}
	}
}
