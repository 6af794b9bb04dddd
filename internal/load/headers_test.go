package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // registers the compressor
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// observer is a greeter that keeps the metadata of its calls and the bytes of their messages.
type observer struct {
	rpclabv1.UnimplementedGreeterServer
	mu         sync.Mutex
	values     map[string]map[string]int // counts by key and value
	sent, read int                       // bytes of the last message on the wire, and decompressed
	compressed string
}

func (o *observer) SayHello(ctx context.Context, request *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	for key, values := range md {
		if o.values[key] == nil {
			o.values[key] = map[string]int{}
		}
		o.values[key][strings.Join(values, "|")]++
	}
	return &rpclabv1.HelloReply{Message: request.Name}, nil
}

func (o *observer) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (o *observer) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (o *observer) HandleConn(context.Context, stats.ConnStats)                       {}
func (o *observer) HandleRPC(_ context.Context, event stats.RPCStats) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch event := event.(type) {
	case *stats.InHeader:
		o.compressed = event.Compression
	case *stats.InPayload:
		o.sent, o.read = event.CompressedLength, event.Length
	}
}

// seen returns what was observed so far.
func (o *observer) seen() *observer {
	o.mu.Lock()
	defer o.mu.Unlock()
	return &observer{values: maps.Clone(o.values), sent: o.sent, read: o.read, compressed: o.compressed}
}

// observe serves an observer without server reflection.
func observe(t *testing.T) (*observer, Settings) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := &observer{values: map[string]map[string]int{}}
	server := grpc.NewServer(grpc.StatsHandler(seen))
	rpclabv1.RegisterGreeterServer(server, seen)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	settings := validSettings()
	settings.Target, settings.Proto, settings.Calls, settings.Concurrency = listener.Addr().String(), "../../api/rpclab/v1/greeter.proto", 20, 3
	return seen, settings
}

func TestMessagesAreCompressed(t *testing.T) {
	name := strings.Repeat("a", 10_000)
	for _, engine := range []string{Wire, GRPCGo} {
		for _, data := range []string{`{"name": "` + name + `"}`, `{"name": "` + name + `{{.Number}}"}`, `{}`} {
			server, settings := observe(t)
			settings.Engine, settings.Data, settings.Compress = engine, data, "gzip"
			arm, seen := run(t, settings).Arms[0], server.seen()
			small := seen.sent < seen.read/10 || data == "{}" && seen.sent == 0
			if arm.Calls != 20 || len(arm.Errors) > 0 || seen.compressed != "gzip" || !small || arm.Config["compress"] != "gzip" {
				t.Errorf("%s: %d calls, errors %v, grpc-encoding %q, %d bytes of %d sent; want 20 calls with less than a tenth of the bytes",
					engine, arm.Calls, arm.Samples, seen.compressed, seen.sent, seen.read)
			}
		}
	}
}

func TestMetadataCanBeTemplates(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		server, settings := observe(t)
		settings.Engine, settings.Connections = engine, 2
		settings.Metadata = []string{"fixed: x", "user: u{{.Worker}}", "Request-Id: {{.Number}}", "key-bin: AQ{{if lt .Number 10}}I{{else}}M{{end}}="}
		arm, seen := run(t, settings).Arms[0], server.seen()
		users := seen.values["user"]["u0"] + seen.values["user"]["u1"] + seen.values["user"]["u2"]
		if arm.Calls != 20 || len(arm.Errors) > 0 || len(seen.values["request-id"]) != 20 || users != 20 ||
			seen.values["fixed"]["x"] != 20 || seen.values["key-bin"]["\x01\x02"] != 10 || seen.values["key-bin"]["\x01\x03"] != 10 {
			t.Errorf("%s: %d calls, errors %v, metadata %v; want 20 calls, each with its request-id and user", engine, arm.Calls, arm.Samples, seen.values)
		}
	}
}

func TestACallWhoseMetadataFailIsNotSent(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		server, settings := observe(t)
		settings.Engine, settings.Metadata = engine, []string{"id: {{if eq .Number 4}}{{randomInt 2 1}}{{end}}{{if eq .Number 5}}{{print \"a\\nb\"}}{{end}}"}
		arm, seen := run(t, settings).Arms[0], server.seen()
		if arm.Errors["INTERNAL"] != 2 || !strings.HasPrefix(arm.Samples["INTERNAL"], "create the metadata: ") || seen.values["id"][""] != 18 {
			t.Errorf("%s: errors %v %v, metadata %v; want 2 INTERNAL and 18 calls", engine, arm.Errors, arm.Samples, seen.values["id"])
		}
	}
}

func TestTheUserAgentIsSetBeforeThatOfTheEngine(t *testing.T) {
	for engine, own := range map[string]string{Wire: "grpc-rpclab/1", GRPCGo: "grpc-go/" + grpc.Version} {
		for given, want := range map[string]string{"": own, "shop/2.1": "shop/2.1 " + own} {
			server, settings := observe(t)
			settings.Engine, settings.UserAgent = engine, given
			run(t, settings)
			if seen := server.seen(); seen.values["user-agent"][want] != 20 {
				t.Errorf("%s, --user-agent %q: the user agents are %v, want %s", engine, given, seen.values["user-agent"], want)
			}
		}
	}
}

func TestHeadersOfRESTCallsCanBeTemplates(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		site := newSite(t, false)
		run(t, Settings{Target: site.URL + "/", HTTP: "PUT", HTTP2: http2, Data: "x", MaxInFlight: 1, Timeout: time.Minute, Calls: 5, Concurrency: 1,
			Metadata: []string{"token: t{{.Number}}"}, UserAgent: "shop/2.1"})
		requests := site.seen()
		protocol := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[http2]
		for n := range 5 {
			if want := fmt.Sprintf("%s PUT %s / t%d x", protocol, site.Listener.Addr(), n); requests[want] != 1 {
				t.Errorf("the requests are %v, want %q", requests, want)
			}
		}
	}
}

func TestInvalidHeadersAreRejected(t *testing.T) {
	rest := Settings{Target: "http://127.0.0.1:1/", HTTP: "GET", MaxInFlight: 1, Timeout: time.Minute}
	restWith := func(change func(*Settings)) Settings { s := rest; change(&s); return s }
	for want, settings := range map[string]Settings{
		"--compress zstd: unknown compression: use gzip":            with(func(s *Settings) { s.Compress = "zstd" }),
		"--compress compresses gRPC messages":                       restWith(func(s *Settings) { s.Compress = "gzip" }),
		"--user-agent \"a\\nb\" has characters":                     with(func(s *Settings) { s.UserAgent = "a\nb" }),
		"and use --user-agent":                                      with(func(s *Settings) { s.Metadata = []string{"User-Agent: x"} }),
		"--user-agent and --metadata set the same header":           restWith(func(s *Settings) { s.UserAgent, s.Metadata = "a", []string{"User-Agent: x"} }),
		"--metadata te: gRPC sets this header itself":               with(func(s *Settings) { s.Metadata = []string{"te: {{uuid}}"} }),
		"--metadata id: 1: function \"uid\" not defined":            with(func(s *Settings) { s.Metadata = []string{"id: {{uid}}"} }),
		"--metadata key-bin: \"?\" is not base64":                   with(func(s *Settings) { s.Metadata = []string{"key-bin: {{print \"?\"}}"} }),
		"--metadata Host: the header is the same in all calls":      restWith(func(s *Settings) { s.Metadata = []string{"host: {{uuid}}"} }),
		"--metadata \"a(b: c\": HTTP cannot carry":                  with(func(s *Settings) { s.Metadata = []string{"a(b: c"} }),
		"--metadata \"a: \\x1b\": HTTP cannot carry":                restWith(func(s *Settings) { s.Metadata = []string{"a: \x1b"} }),
		"--metadata a: HTTP cannot carry the value":                 with(func(s *Settings) { s.Metadata = []string{`a: {{"\x01"}}`} }),
		"--metadata Content-Length: rpclab sets this header itself": restWith(func(s *Settings) { s.Metadata = []string{"content-length: {{.Number}}"} }),
	} {
		if _, err := Open(t.Context(), settings); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrInvalid) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

func TestAContentTypeOfTheUserReplacesTheDefault(t *testing.T) {
	for line, want := range map[string]string{"content-type: text/plain": "text/plain", "Content-Type: text/{{.Number}}": "", "x-other: 1": "application/json"} {
		headers, err := Settings{HTTP: "POST", Metadata: []string{line}}.headers()
		if got := headers.Get("Content-Type"); err != nil || got != want {
			t.Errorf("%s: the fixed Content-Type is %q, %v; want %q", line, got, err, want)
		}
	}
}
