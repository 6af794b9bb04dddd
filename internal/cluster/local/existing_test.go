package local_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/testkit"
)

// serve runs a gRPC server until the test ends and returns its address. Without a health server it is one that
// answers UNIMPLEMENTED.
func serve(t *testing.T, checks *health.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	if checks != nil {
		healthpb.RegisterHealthServer(server, checks)
	}
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func TestAServiceThatRunsAlreadyIsPublishedAndChecked(t *testing.T) {
	t.Parallel()
	checks := health.NewServer()
	with, without := serve(t, checks), serve(t, nil)
	_, port, _ := net.SplitHostPort(without) // it is one
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Addresses: []string{with, "localhost:" + port}})
	want := []string{with, without}
	slices.Sort(want)
	if got := ids(ready(d)); !slices.Equal(got, want) {
		t.Errorf("ready are %v, want %v", got, want)
	}
	if service := d.Service(); service.Port != 0 || service.API == "" {
		t.Errorf("the service is %+v, want one without a common port", service)
	}
	if len(d.Usage()) != 0 || len(d.CallCounts()) != 0 || len(d.Failures()) != 0 {
		t.Errorf("the usage is %v, the counts are %v, the failures %v; want none", d.Usage(), d.CallCounts(), d.Failures())
	}
	checks.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	testkit.Await(t, "one backend is not ready", func() bool { return slices.Equal(ids(ready(d)), []string{without}) })
	checks.SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
	awaitReady(t, d, 2)
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", with)
	if err != nil {
		t.Fatalf("after Remove the service does not listen: %v", err)
	}
	conn.Close()
}

// starting answers NOT_SERVING to its first checks.
type starting struct {
	healthpb.UnimplementedHealthServer
	checks atomic.Int32
}

func (s *starting) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if s.checks.Add(1) <= 2 {
		return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}, nil
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func TestAServiceThatIsNotReadyYetGetsAMoment(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, &starting{})
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	deploy(t, newCluster(t, local.Options{}), cluster.Spec{Addresses: []string{listener.Addr().String()}})
}

func TestOneCommonPortIsThatOfTheService(t *testing.T) {
	t.Parallel()
	address := serve(t, nil)
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Addresses: []string{address}})
	if service := d.Service(); fmt.Sprintf("127.0.0.1:%d", service.Port) != address {
		t.Errorf("the port is %d, want that of %s", service.Port, address)
	}
}

func TestRPCLabDoesNotChangeAServiceThatItDidNotStart(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Addresses: []string{serve(t, nil)}})
	ctx := t.Context()
	for name, action := range map[string]func() ([]string, error){
		"scale":    func() ([]string, error) { return d.Scale(ctx, 2) },
		"kill":     func() ([]string, error) { return d.Kill(ctx, 1) },
		"pause":    func() ([]string, error) { return d.Pause(ctx, 1) },
		"stop":     func() ([]string, error) { return d.Stop(ctx, 1) },
		"roll out": func() ([]string, error) { return d.Rollout(ctx, nil) },
		"slow":     func() ([]string, error) { return d.Slow(ctx, 1, time.Second, 0) },
		"fail":     func() ([]string, error) { return d.Fail(ctx, 1, "INTERNAL", 1) },
		"flap":     func() ([]string, error) { return d.Flap(ctx, 1, time.Second) },
		"cut":      func() ([]string, error) { return d.Cut(ctx, 1, true) },
	} {
		want := name + " greeter: rpclab did not start it (server.addresses)"
		if _, err := action(); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
	if err := d.Resume(ctx); err != nil {
		t.Error(err)
	}
	recoverAll(t, d)
}

func TestReadinessOverTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NewServeMux())
	defer server.Close()
	c := newCluster(t, local.Options{})
	spec := cluster.Spec{Name: "greeter", Addresses: []string{server.Listener.Addr().String()}, Ready: cluster.Ready{Kind: cluster.ReadyHTTP, Path: "/", TLS: true}}
	if _, err := c.Deploy(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "answers 404 Not Found") {
		t.Errorf("error %v, want the answer 404 over TLS", err)
	}
}

// unused is an address where nothing listens.
func unused(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	return listener.Addr().String()
}

func TestErrorsOfAddressesNameTheCause(t *testing.T) {
	t.Parallel()
	closed := unused(t)
	open := serve(t, nil)
	c := newCluster(t, local.Options{})
	for _, test := range []struct {
		addresses []string
		ready     cluster.Ready
		want      []string
	}{
		{[]string{open, closed}, cluster.Ready{}, []string{"server.addresses: " + closed + " of greeter is not ready: ", "connection refused"}},
		{[]string{closed}, cluster.Ready{Kind: "tcp"}, []string{"connection refused"}},
		{[]string{"127.0.0.1"}, cluster.Ready{}, []string{`server.addresses: "127.0.0.1" is not host:port`}},
		{[]string{"127.0.0.1:70000"}, cluster.Ready{}, []string{`server.addresses: "127.0.0.1:70000" is not host:port`}},
		{[]string{":50051"}, cluster.Ready{}, []string{`server.addresses: ":50051" is not host:port`}},
		{[]string{open, open}, cluster.Ready{}, []string{"server.addresses: " + open + " is there twice"}},
		{[]string{"no such host:1"}, cluster.Ready{}, []string{"server.addresses: no such host:1: "}},
		{[]string{open}, cluster.Ready{Kind: "http"}, []string{"server.ready: path"}},
	} {
		_, err := c.Deploy(t.Context(), cluster.Spec{Name: "greeter", Addresses: test.addresses, Ready: test.ready})
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %v, want %q", test.addresses, err, want)
			}
		}
	}
}

// A service file with a timeout says that its service may still start, so that it does not listen yet.
func TestAddressesHaveTheTimeoutOfTheirServiceFile(t *testing.T) {
	t.Parallel()
	closed := unused(t)
	c := newCluster(t, local.Options{})
	const limit = 400 * time.Millisecond
	began := time.Now()
	_, err := c.Deploy(t.Context(), cluster.Spec{
		Name: "greeter", Addresses: []string{closed}, Ready: cluster.Ready{Kind: cluster.ReadyTCP}, ReadyTimeout: limit,
	})
	if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "connection refused") || took < limit {
		t.Errorf("after %v the error is %v, want that the connection was refused for %v", took, err, limit)
	}
}
