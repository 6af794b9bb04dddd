package controlplane_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"rpclab/internal/route/controlplane"
	"rpclab/internal/testkit"
)

// record is a log that tests read while it is written.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) has(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(r.text.String(), text)
}

// serve runs a control plane over these endpoints until the test ends.
func serve(t *testing.T, endpoints, token string) (*grpc.ClientConn, *record) {
	t.Helper()
	source, err := controlplane.ParseSource(endpoints, "greeter", "default")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log record
	plane := controlplane.Server{Service: "greeter", Source: source, Token: token, Log: slog.New(slog.NewTextHandler(&log, nil))}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- plane.Serve(ctx, listener) }()
	channel, err := grpc.NewClient("passthrough:///"+listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = channel.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return channel, &log
}

// file writes backends, one a line, to a file that the next writing replaces.
func file(t *testing.T, dir string, lines ...string) string {
	t.Helper()
	name := filepath.Join(dir, "endpoints.yaml")
	if err := os.WriteFile(name+".new", []byte("- "+strings.Join(lines, "\n- ")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestStateOfTheWorldFollowsAFile(t *testing.T) {
	dir := t.TempDir()
	channel, log := serve(t, file(t, dir, "127.0.0.1:1", "{address: 127.0.0.1:2, zone: zone-1}"), "")
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan []string, 10)
	var watching sync.WaitGroup
	watching.Go(func() {
		controlplane.Watch(ctx, channel, "greeter", func(_ time.Time, addrs []string) { told <- addrs })
	})
	defer watching.Wait()
	defer cancel()
	expect := func(want ...string) {
		t.Helper()
		if got := <-told; !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	}
	expect("127.0.0.1:1", "127.0.0.1:2")
	file(t, dir, "127.0.0.1:3")
	expect("127.0.0.1:3")
	testkit.Await(t, "the log says who came", func() bool { return log.has("msg=client node=rpclab agent=rpclab delta=false") })
	testkit.Await(t, "the log says what was served", func() bool { return log.has("msg=served node=rpclab type=ClusterLoadAssignment") })
}

func TestDeltaServesEveryTypeAndThenOnlyWhatChanged(t *testing.T) {
	dir := t.TempDir()
	channel, _ := serve(t, file(t, dir, "127.0.0.1:1"), "")
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(channel).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *discovery.DeltaDiscoveryRequest) {
		t.Helper()
		r.Node = &core.Node{Id: "delta"}
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	answer := func() (kind string) {
		t.Helper()
		a, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Resources) != 1 || a.Resources[0].Name != "greeter" {
			t.Errorf("%v", a.Resources)
		}
		ask(&discovery.DeltaDiscoveryRequest{TypeUrl: a.TypeUrl, ResponseNonce: a.Nonce})
		return a.TypeUrl
	}
	for _, kind := range []string{resource.ListenerType, resource.RouteType, resource.ClusterType, resource.EndpointType} {
		ask(&discovery.DeltaDiscoveryRequest{TypeUrl: kind, ResourceNamesSubscribe: []string{"greeter"}})
		if got := answer(); got != kind {
			t.Errorf("asked for %s, got %s", kind, got)
		}
	}
	file(t, dir, "127.0.0.1:2")
	if got := answer(); got != resource.EndpointType {
		t.Errorf("a change of endpoints sent %s", got)
	}
}

func TestAFileThatBreaksChangesNothing(t *testing.T) {
	dir := t.TempDir()
	_, log := serve(t, file(t, dir, "127.0.0.1:1"), "")
	testkit.Await(t, "it serves", func() bool { return log.has("msg=serving") })
	name := file(t, dir, "nonsense")
	testkit.Await(t, "it says what is wrong", func() bool { return log.has("endpoints stay as they are") })
	file(t, dir, "127.0.0.1:4", "127.0.0.1:4")
	testkit.Await(t, "it says what is there twice", func() bool { return log.has("endpoint 127.0.0.1:4 is there twice") })
	file(t, dir, "127.0.0.1:0")
	testkit.Await(t, "it says that port 0 is none", func() bool { return log.has("127.0.0.1:0") })
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "it says that the file is empty", func() bool { return log.has("is empty") })
	file(t, dir, "127.0.0.1:2", "127.0.0.1:3")
	testkit.Await(t, "it reads on", func() bool { return log.has("usable=2") })
}

func TestAFileThatIsWrongFromTheStartIsAnError(t *testing.T) {
	source, err := controlplane.ParseSource(file(t, t.TempDir(), "127.0.0.1:1", "greeter:50051"), "greeter", "default")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = (&controlplane.Server{Service: "greeter", Source: source, Log: slog.New(slog.DiscardHandler)}).Serve(t.Context(), listener)
	if want := `endpoints.yaml: endpoint "greeter:50051" is no IP address and port`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestOnlyTheTokenOpens(t *testing.T) {
	channel, _ := serve(t, "127.0.0.1:1", "secret")
	for given, want := range map[string]codes.Code{"": codes.Unauthenticated, "Bearer secrets": codes.Unauthenticated, "Bearer secret": codes.OK} {
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "authorization", given), time.Minute)
		stream, err := discovery.NewAggregatedDiscoveryServiceClient(channel).StreamAggregatedResources(ctx)
		if err == nil {
			_ = stream.Send(&discovery.DiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNames: []string{"greeter"}}) // Recv says why it failed
			_, err = stream.Recv()
		}
		if status.Code(err) != want {
			t.Errorf("authorization %q: %v, want %v", given, err, want)
		}
		cancel()
	}
}

func TestAnAPIThatIsAwayIsNamed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	source, err := controlplane.ParseSource("http://127.0.0.1:9", "greeter", "default")
	if err != nil {
		t.Fatal(err)
	}
	if err := source(ctx, nil, nil); err == nil || !strings.Contains(fmt.Sprint(err), "endpoints of default/greeter from http://127.0.0.1:9") {
		t.Errorf("error %v", err)
	}
}
