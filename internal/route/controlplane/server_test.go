package controlplane_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
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

// logBuffer holds a log that tests read while the server writes it.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) contains(text string) bool { return b.count(text) > 0 }

func (b *logBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), text)
}

// serve runs a control plane for these endpoints until the test ends.
func serve(t *testing.T, endpoints, token string) (*grpc.ClientConn, *logBuffer) {
	t.Helper()
	source, err := controlplane.ParseSource(endpoints, "greeter", "default")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log logBuffer
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

// writeFile writes the lines of a YAML list to endpoints.yaml in dir, atomically.
func writeFile(t *testing.T, dir string, lines ...string) string {
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

func TestWatchReceivesChangesOfAFile(t *testing.T) {
	dir := t.TempDir()
	channel, log := serve(t, writeFile(t, dir, "127.0.0.1:1", "{address: 127.0.0.1:2, zone: zone-1}"), "")
	ctx, cancel := context.WithCancel(t.Context())
	updates := make(chan []string, 10) // addresses
	var watching sync.WaitGroup
	watching.Go(func() {
		controlplane.Watch(ctx, channel, "greeter", func(_ time.Time, addrs []string) { updates <- addrs })
	})
	defer watching.Wait()
	defer cancel()
	expect := func(want ...string) {
		t.Helper()
		if got := <-updates; !slices.Equal(got, want) {
			t.Errorf("the control plane sent %v, want %v", got, want)
		}
	}
	expect("127.0.0.1:1", "127.0.0.1:2")
	writeFile(t, dir, "127.0.0.1:3")
	expect("127.0.0.1:3")
	testkit.Await(t, "the log names the client", func() bool { return log.contains("msg=connected node=rpclab agent=rpclab delta=false") })
	testkit.Await(t, "the log names the resources", func() bool { return log.contains("msg=served node=rpclab type=ClusterLoadAssignment") })
}

func TestTheLogSaysOnceThatTheAPIOfEndpointsIsGone(t *testing.T) {
	const list = `{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"s","resourceVersion":"1"},` +
		`"addressType":"IPv4","ports":[{"name":"grpc","port":50051}],"endpoints":[{"addresses":["127.0.0.1"],"conditions":{"ready":true}}]}]}`
	watched := make(chan struct{}, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			_, _ = io.WriteString(w, list)
			return
		}
		_ = http.NewResponseController(w).Flush()
		watched <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(api.Close)
	_, log := serve(t, api.URL, "")
	<-watched
	_ = api.Listener.Close() // before its connections, so that no new one is made
	api.CloseClientConnections()
	testkit.Await(t, "the log has the reason", func() bool { return log.contains("EndpointSlices of default/greeter: ") })
	<-time.After(2 * time.Second) // the watch is tried again
	if n := log.count("endpoints not updated"); n != 1 {
		t.Errorf("the log says %d times that endpoints are not updated, want once", n)
	}
}

func TestDeltaSendsEachTypeOnceAndThenOnlyChanges(t *testing.T) {
	dir := t.TempDir()
	channel, _ := serve(t, writeFile(t, dir, "127.0.0.1:1"), "")
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(channel).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	send := func(request *discovery.DeltaDiscoveryRequest) {
		t.Helper()
		request.Node = &core.Node{Id: "delta"}
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
	}
	receive := func() (typeURL string) {
		t.Helper()
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if len(response.Resources) != 1 || response.Resources[0].Name != "greeter" {
			t.Errorf("the response has the resources %v, want greeter alone", response.Resources)
		}
		send(&discovery.DeltaDiscoveryRequest{TypeUrl: response.TypeUrl, ResponseNonce: response.Nonce})
		return response.TypeUrl
	}
	for _, typeURL := range []string{resource.ListenerType, resource.RouteType, resource.ClusterType, resource.EndpointType} {
		send(&discovery.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesSubscribe: []string{"greeter"}})
		if got := receive(); got != typeURL {
			t.Errorf("a request for %s received %s", typeURL, got)
		}
	}
	writeFile(t, dir, "127.0.0.1:2")
	if got := receive(); got != resource.EndpointType {
		t.Errorf("after a change of the endpoints the server sent %s, want %s", got, resource.EndpointType)
	}
}

func TestFileThatBecomesInvalidKeepsTheLastEndpoints(t *testing.T) {
	dir := t.TempDir()
	_, log := serve(t, writeFile(t, dir, "127.0.0.1:1"), "")
	testkit.Await(t, "the server serves", func() bool { return log.contains("msg=serving") })
	name := writeFile(t, dir, "nonsense")
	testkit.Await(t, "the log has an error for a line that is no address", func() bool { return log.contains("endpoints not updated") })
	writeFile(t, dir, "127.0.0.1:4", "127.0.0.1:4")
	testkit.Await(t, "the log names the address that is listed twice", func() bool { return log.contains("endpoint 127.0.0.1:4 is listed twice") })
	writeFile(t, dir, "127.0.0.1:0")
	testkit.Await(t, "the log has an error for port 0", func() bool { return log.contains("127.0.0.1:0") })
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the log says that the file is empty", func() bool { return log.contains("is empty") })
	writeFile(t, dir, "127.0.0.1:2", "127.0.0.1:3")
	testkit.Await(t, "the server reads the file once it is valid", func() bool { return log.contains("usable=2") })
}

func TestServeFailsOnAFileThatIsInvalidFromTheStart(t *testing.T) {
	source, err := controlplane.ParseSource(writeFile(t, t.TempDir(), "127.0.0.1:1", "greeter:50051"), "greeter", "default")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = (&controlplane.Server{Service: "greeter", Source: source, Log: slog.New(slog.DiscardHandler)}).Serve(t.Context(), listener)
	if want := `endpoints.yaml: endpoint "greeter:50051" must be an IP address and a port`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestOnlyClientsWithTheTokenAreServed(t *testing.T) {
	channel, _ := serve(t, "127.0.0.1:1", "secret")
	for given, want := range map[string]codes.Code{"": codes.Unauthenticated, "Bearer secrets": codes.Unauthenticated, "Bearer secret": codes.OK} {
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "authorization", given), time.Minute)
		stream, err := discovery.NewAggregatedDiscoveryServiceClient(channel).StreamAggregatedResources(ctx)
		if err == nil {
			_ = stream.Send(&discovery.DiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNames: []string{"greeter"}}) // Recv returns the reason if it fails
			_, err = stream.Recv()
		}
		if status.Code(err) != want {
			t.Errorf("authorization %q: %v, want %v", given, err, want)
		}
		cancel()
	}
}

func TestErrorNamesAnAPIThatDoesNotAnswer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	source, err := controlplane.ParseSource("http://127.0.0.1:9", "greeter", "default")
	if err != nil {
		t.Fatal(err)
	}
	const want = "endpoints of default/greeter from http://127.0.0.1:9"
	if err := source(ctx, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}
