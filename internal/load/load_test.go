package load

import (
	"context"
	"errors"
	"io"
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

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/result"
)

// run loads a target that has to be there.
func run(t *testing.T, s Settings) result.Document {
	t.Helper()
	l, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := l.Run(t.Context(), l.Live())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestALoadMakesADocumentOfOneArm(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		t.Run(engine, func(t *testing.T) { documentOfOneArm(t, engine) })
	}
}

func documentOfOneArm(t *testing.T, engine string) {
	s := settings()
	s.Engine = engine
	s.Target, s.Rate, s.Calls, s.Data, s.Connections, s.Warmup = greeter(t), 1000, 50, `{"name": "you"}`, 2, 10
	d := run(t, s)
	a := d.Arms[0]
	if a.Name != s.Target || a.Calls != 50 || a.Backends["one"] != 50 || len(a.Errors) != 0 || a.Channel != "pool of 2" {
		t.Errorf("arm %s: %d calls, backends %v, errors %v, %s", a.Name, a.Calls, a.Backends, a.Errors, a.Channel)
	}
	if a.Latency.P50 < a.Service.P50 || a.Service.Min <= 0 || a.Resources.Client.CPU <= 0 || a.Rate < 100 {
		t.Errorf("latency %v, service %v, %v, %g calls/s", a.Latency.P50, a.Service.P50, a.Resources.Client, a.Rate)
	}
	ability, ok := a.Config["generator"].(Ability)
	if !ok || ability.Ceiling < 100 || ability.FloorP50 < ability.PingP50 || ability.PingP50 <= 0 || ability.Sent < 20 {
		t.Errorf("the generator's own figures are %+v", ability)
	}
	var text strings.Builder
	if err := result.Write(&text, d); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Read(strings.NewReader(text.String())); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptKeepsWhatWasMeasured(t *testing.T) {
	s := settings()
	s.Target, s.Concurrency, s.Duration = greeter(t), 2, time.Hour
	l, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	live := l.Live()
	go func() {
		for {
			if live.Moment().Answered > 100 {
				cancel()
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	}()
	d, err := l.Run(ctx, live)
	if err != nil || !d.Partial || d.Arms[0].Calls < 100 || d.Arms[0].Config["generator"] != nil {
		t.Errorf("partial: %v, %d calls, %v", d.Partial, d.Arms[0].Calls, err)
	}
}

// TestEnginesSendTheSame metadata and messages, and count the same errors.
func TestEnginesSendTheSame(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		picky := &picky{names: map[string]int{}}
		server := grpc.NewServer()
		rpclabv1.RegisterGreeterServer(server, picky)
		reflection.Register(server)
		go func() { _ = server.Serve(listener) }()
		s := settings()
		s.Engine, s.Target, s.Calls, s.Concurrency = engine, listener.Addr().String(), 10, 1
		s.Metadata = []string{"token: x", "key-bin: AQI="}
		s.Data = `{"name": "{{.Number}}{{if eq .Number 4}}{{randomInt 2 1}}{{end}}"}`
		a := run(t, s).Arms[0]
		server.Stop()
		failed := "INTERNAL"
		if engine == Wire {
			failed = "DATA_LOSS"
		}
		if a.Calls != 10 || a.Errors["PERMISSION_DENIED"] != 1 || a.Errors[failed] != 1 || a.Backends[s.Target] != 8 {
			t.Errorf("%s: %d calls, errors %v, %v, backends %v", engine, a.Calls, a.Errors, a.Samples, a.Backends)
		}
		if picky.wrong != 0 || picky.names["0"] != 1 || picky.names["9"] != 1 {
			t.Errorf("%s: %d calls without their metadata; names %v", engine, picky.wrong, picky.names)
		}
	}
}

// picky refuses the name 7.
type picky struct {
	rpclabv1.UnimplementedGreeterServer
	mu    sync.Mutex
	names map[string]int
	wrong int
}

func (p *picky) SayHello(ctx context.Context, request *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names[request.Name]++
	md, _ := metadata.FromIncomingContext(ctx)
	if !slices.Equal(md["token"], []string{"x"}) || !slices.Equal(md["key-bin"], []string{"\x01\x02"}) {
		p.wrong++
	}
	if request.Name == "7" {
		return nil, status.Error(codes.PermissionDenied, "no sevens")
	}
	return &rpclabv1.HelloReply{}, nil
}

func TestRESTCallsAreCountedByStatus(t *testing.T) {
	var mu sync.Mutex
	bodies := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies[string(body)]++
		mu.Unlock()
		if r.Header.Get("Token") != "x" || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		if string(body) == "[3]" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	s := Settings{Target: server.URL, HTTP: "POST", Data: "[{{.Number}}]", Metadata: []string{"token: x"},
		Concurrency: 2, Calls: 10, MaxInFlight: 1, Timeout: 5 * time.Second}
	a := run(t, s).Arms[0]
	if a.Calls != 10 || len(bodies) != 10 || a.Errors["HTTP_503"] != 1 || len(a.Errors) != 1 {
		t.Errorf("%d calls with bodies %v, errors %v", a.Calls, bodies, a.Errors)
	}
	if a.Backends[a.Name] != 9 || "http://"+a.Name != server.URL {
		t.Errorf("%s was called: %v", a.Name, a.Backends)
	}
}

func TestNobodyThereIsSaidBeforeTheLoad(t *testing.T) {
	s := settings()
	s.Target = "127.0.0.1:1"
	for _, s := range []Settings{s, {Target: "http://127.0.0.1:1/", HTTP: "GET", MaxInFlight: 1, Timeout: time.Second}} {
		_, err := Open(t.Context(), s)
		if err == nil || errors.Is(err, ErrRequest) || !strings.Contains(err.Error(), "cannot connect to") || !strings.Contains(err.Error(), "refused") {
			t.Error(err)
		}
	}
}

func TestWhatIsWrongIsSaidBeforeTheLoad(t *testing.T) {
	address := greeter(t)
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Settings){
		`did you mean "rpclab.v1.Greeter"`: func(s *Settings) { s.Call = "rpclab.v1.Greter/SayHello" },
		"needs --engine grpc-go":           func(s *Settings) { s.Data = `{"name": "{{.Worker}}"}` },
		`did you mean "wire"?`:             func(s *Settings) { s.Engine = "wired" },
		"--cores has to be":                func(s *Settings) { s.Cores = 100_000 },
		`unknown field "nmae"`:             func(s *Settings) { s.Data = `{"nmae": "x"}` },
		"cannot read the data":             func(s *Settings) { s.Data = "@" + filepath.Join(dir, "nowhere") },
		"has no certificate in PEM form":   func(s *Settings) { s.TLS.CACert = empty },
		"--cert and --key go together":     func(s *Settings) { s.TLS.Cert = empty },
		"cannot compile":                   func(s *Settings) { s.Proto = filepath.Join(dir, "nowhere.proto") },
		"cannot read the descriptor set":   func(s *Settings) { s.Protoset = filepath.Join(dir, "nowhere") },
	} {
		s := with(change)
		s.Target = address
		_, err := Open(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrRequest) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestTheSelfTestWorksForREST(t *testing.T) {
	a, err := SelfTest(t.Context(), Probe{Engine: "net/http", Request: 10, Reply: 100, Each: 50 * time.Millisecond})
	if err != nil || a.Ceiling < 100 || a.Got < 200 || a.Engine != "net/http" {
		t.Errorf("%+v, %v", a, err)
	}
}
