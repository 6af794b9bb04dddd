package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rpclab/internal/cluster"
	"rpclab/internal/gateway"
	"rpclab/internal/route"
	"rpclab/internal/testkit"
)

// spec describes a gateway without running backends; it would connect at its first call.
func spec(t *testing.T) gateway.ProcessSpec {
	t.Helper()
	return gateway.ProcessSpec{
		Self: []string{testkit.Rpclab(t)}, Route: route.Forwarder, Model: gateway.Threads,
		Service: cluster.Service{Name: "greeter", Proxy: "127.0.0.1:9"},
	}
}

func TestAGatewayAnnouncesItsAddress(t *testing.T) {
	running, err := gateway.Start(t.Context(), spec(t))
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if got := ask(t, http.MethodGet, "http://"+running.Address+"/-/ready"); got.body != "ready\n" {
		t.Errorf("%s answered %q, want ready", running.Address, got.body)
	}
}

func TestStartFailsIfAnotherProgramListens(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // 200 to everything
	defer stranger.Close()
	p := spec(t)
	p.Listen = stranger.Listener.Addr().String()
	running, err := gateway.Start(t.Context(), p)
	if err == nil {
		running.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "gateway exited before it was ready") || !strings.Contains(err.Error(), "cannot listen on "+p.Listen) {
		t.Errorf("error %v, want one that names the address in use", err)
	}
}
