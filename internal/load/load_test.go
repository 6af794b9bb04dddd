package load

import (
	"context"
	"errors"
	"net"
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

// run loads a target, which must be reachable.
func run(t *testing.T, s Settings) result.Document {
	t.Helper()
	l, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := l.Run(t.Context(), NewProgress())
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
	if a.Latency.P50 < a.Service.P50 || a.Service.Min <= 0 || a.Resources.Client.CPU <= 0 || a.Rate <= 0 {
		t.Errorf("latency %v, service %v, %v, %g calls/s", a.Latency.P50, a.Service.P50, a.Resources.Client, a.Rate)
	}
	ability, ok := a.Config["generator"].(SelfTestResult)
	if !ok || ability.CeilingRate <= 0 || ability.FloorP50 <= 0 || ability.PingP50 <= 0 || ability.SentBytes < 20 {
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
	live := NewProgress()
	go func() {
		for {
			if live.Snapshot().Answered > 100 {
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
	if !slices.Contains(d.Warnings, noSelfTest) {
		t.Errorf("the warnings are %q", d.Warnings)
	}
}

// TestAnInterruptOfTheWarmUpMakesNoResult: there is nothing to keep.
func TestAnInterruptOfTheWarmUpMakesNoResult(t *testing.T) {
	s := settings()
	s.Target, s.Warmup = greeter(t), 1_000_000_000
	l, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if d, err := l.Run(ctx, nil); !errors.Is(err, context.Canceled) || d.ID != "" {
		t.Errorf("result %q, %v", d.ID, err)
	}
}

// TestAnInterruptOfTheSelfTestIsImmediateAndKeepsTheLoad: all that was asked for is there.
func TestAnInterruptOfTheSelfTestIsImmediateAndKeepsTheLoad(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		s := settings()
		s.Engine, s.Target, s.Calls, s.Concurrency = engine, greeter(t), 20, 2
		l, err := Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var interrupted time.Time
		l.selfTest = func(ctx context.Context, p Probe) (*SelfTestResult, error) {
			p.Duration = time.Hour
			time.AfterFunc(200*time.Millisecond, func() { interrupted = time.Now(); cancel() })
			return SelfTest(ctx, p)
		}
		d, err := l.Run(ctx, nil)
		if took := time.Since(interrupted); err != nil || took > 30*time.Second {
			t.Errorf("%s: it went on for %v, %v", engine, took, err)
		}
		if d.Partial || d.Arms[0].Calls != 20 || d.Arms[0].Config["generator"] != nil || !slices.Contains(d.Warnings, noSelfTest) {
			t.Errorf("%s: partial: %v, %d calls, %v", engine, d.Partial, d.Arms[0].Calls, d.Warnings)
		}
	}
}

const noSelfTest = "the generator's own limits were not measured because of the interrupt"

// TestEnginesSendTheSame metadata and messages, and count the same errors.
func TestEnginesSendTheSame(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		service := &strictGreeter{names: map[string]int{}}
		s := settings()
		s.Engine, s.Target, s.Calls, s.Concurrency = engine, serve(t, service), 10, 1
		s.Metadata = []string{"token: x", "key-bin: AQI="}
		s.Data = `{"name": "{{.Number}}{{if eq .Number 4}}{{randomInt 2 1}}{{end}}"}`
		a := run(t, s).Arms[0]
		if a.Calls != 10 || a.Errors["PERMISSION_DENIED"] != 1 || a.Errors["INTERNAL"] != 1 || a.Backends[s.Target] != 8 {
			t.Errorf("%s: %d calls, errors %v, %v, backends %v", engine, a.Calls, a.Errors, a.Samples, a.Backends)
		}
		if sample := a.Samples["INTERNAL"]; !strings.HasPrefix(sample, "create the message: ") || !strings.Contains(sample, "randomInt 2 1") {
			t.Errorf("%s: the call without a message says %q", engine, sample)
		}
		if service.wrong != 0 || len(service.names) != 9 || service.names["4"]+service.names[""] != 0 {
			t.Errorf("%s: %d calls without their metadata; names %v", engine, service.wrong, service.names)
		}
	}
}

// TestWorkersAreNumbersOfCallsInFlight: as many as there are users, whatever the number
// of calls.
func TestWorkersAreNumbersOfCallsInFlight(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		s := settings()
		seen := &strictGreeter{names: map[string]int{}}
		s.Engine, s.Target, s.Calls, s.Concurrency = engine, serve(t, seen), 50, 3
		s.Metadata = []string{"token: x", "key-bin: AQI="}
		s.Data = `{"name": "{{.Worker}}"}`
		if run(t, s); seen.names["0"]+seen.names["1"]+seen.names["2"] != 50 {
			t.Errorf("%s: workers %v", engine, seen.names)
		}
	}
}

// serve serves a greeter for the length of a test.
func serve(t *testing.T, greeter rpclabv1.GreeterServer) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	rpclabv1.RegisterGreeterServer(server, greeter)
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// strictGreeter rejects the name 7.
type strictGreeter struct {
	rpclabv1.UnimplementedGreeterServer
	mu    sync.Mutex
	names map[string]int
	wrong int
}

func (p *strictGreeter) SayHello(ctx context.Context, request *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
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

func TestAnUnreachableTargetIsReportedBeforeTheLoad(t *testing.T) {
	s := settings()
	s.Target = "127.0.0.1:1"
	for _, s := range []Settings{s, {Target: "http://127.0.0.1:1/", HTTP: "GET", MaxInFlight: 1, Timeout: time.Second}} {
		_, err := Open(t.Context(), s)
		if err == nil || errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "cannot connect to") || !strings.Contains(err.Error(), "refused") {
			t.Error(err)
		}
	}
}

func TestInvalidSettingsAreReportedBeforeTheLoad(t *testing.T) {
	address := greeter(t)
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Settings){
		`did you mean "rpclab.v1.Greeter"`:      func(s *Settings) { s.Call = "rpclab.v1.Greter/SayHello" },
		`did you mean "wire"?`:                  func(s *Settings) { s.Engine = "wired" },
		"--cores must be":                       func(s *Settings) { s.Cores = 100_000 },
		`unknown field "nmae"`:                  func(s *Settings) { s.Data = `{"nmae": "x"}` },
		"read the data":                         func(s *Settings) { s.Data = "@" + filepath.Join(dir, "nowhere") },
		"contains no PEM certificate":           func(s *Settings) { s.TLS.CACert = empty },
		"--cert and --key must be set together": func(s *Settings) { s.TLS.Cert = empty },
		"compile":                               func(s *Settings) { s.Proto = filepath.Join(dir, "nowhere.proto") },
		"read the descriptor set":               func(s *Settings) { s.Protoset = filepath.Join(dir, "nowhere") },
	} {
		s := with(change)
		s.Target = address
		_, err := Open(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
