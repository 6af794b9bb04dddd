package load

import (
	"context"
	"errors"
	"maps"
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
	"rpclab/internal/analysis"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/result/condition"
)

// run makes a load, which must succeed, as the lab does. It leaves out the self-test, which takes longer than these loads.
func run(t *testing.T, s Settings) result.Document {
	t.Helper()
	return runWith(t, s, func(context.Context, Probe) (*SelfTestResult, error) { return new(SelfTestResult), nil })
}

func runWith(t *testing.T, s Settings, selfTest func(context.Context, Probe) (*SelfTestResult, error)) result.Document {
	t.Helper()
	s.Self = []string{os.Args[0]}
	load, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer load.Close()
	if first, _ := load.WarmUp(); first.Calls > 0 {
		if _, _, err := load.Client().Run(t.Context(), first, measure.StartSignal{}); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := load.Pace(1)
	if err != nil {
		t.Fatal(err)
	}
	recorder, started, err := load.Client().Run(t.Context(), plan, measure.StartSignal{})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	seen.Started = started
	arm := load.Arm()
	arm.Trials = []result.Trial{load.Trial(result.Trial{Round: 1}, seen, time.Time{})}
	own, err := selfTest(t.Context(), load.Probe())
	if err != nil {
		t.Fatal(err)
	}
	finished := time.Now().UTC()
	return load.Complete(analysis.Assemble(result.Document{
		Schema: result.Schema, ID: "load", Experiment: Experiment, Question: load.Question(), Cluster: "local", Started: started.UTC(), Finished: &finished,
		Rounds: 1, TrialCount: 1, Baseline: load.Name(), Arms: []result.Arm{arm},
	}), own, "")
}

func TestALoadReturnsADocumentWithOneArm(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		t.Run(engine, func(t *testing.T) { documentOfOneArm(t, engine) })
	}
}

func documentOfOneArm(t *testing.T, engine string) {
	settings := validSettings()
	settings.Engine = engine
	settings.Target, settings.Rate, settings.Calls, settings.Data, settings.Connections, settings.Warmup = greeter(t), 1000, 50, `{"name": "you"}`, 2, 10
	document := runWith(t, settings, SelfTest)
	arm := document.Arms[0]
	if arm.Name != settings.Target || arm.Calls != 50 || arm.Backends["one"] != 50 || len(arm.Errors) != 0 || arm.Channel != "pool of 2" {
		t.Errorf("arm %s: %d calls, backends %v, errors %v, channel %q; want arm %s with 50 calls by backend one over a pool of 2",
			arm.Name, arm.Calls, arm.Backends, arm.Errors, arm.Channel, settings.Target)
	}
	if arm.Latency.P50 < arm.Service.P50 || arm.Service.Min <= 0 || arm.Resources.Client.CPU <= 0 || arm.Rate <= 0 {
		t.Errorf("latency p50 %v, service p50 %v, resources %v, %g calls/s; want all above 0 and latency at least service",
			arm.Latency.P50, arm.Service.P50, arm.Resources.Client, arm.Rate)
	}
	selfTest, ok := arm.Config["generator"].(SelfTestResult)
	if !ok || selfTest.CeilingRate != nil && *selfTest.CeilingRate <= arm.Rate || selfTest.FloorP50 <= 0 || selfTest.PingP50 <= 0 || selfTest.SentBytes < 20 {
		t.Errorf("the self-test is %+v, want figures above 0", selfTest)
	}
	var text strings.Builder
	if err := result.Write(&text, document); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Read(strings.NewReader(text.String())); err != nil {
		t.Error(err)
	}
}

func TestEnginesSendTheSameCallsAndCountTheSameErrors(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		service := &strictGreeter{names: map[string]int{}}
		settings := validSettings()
		settings.Engine, settings.Target, settings.Calls, settings.Concurrency = engine, serve(t, service), 10, 1
		settings.Metadata = []string{"token: x", "key-bin: AQI="}
		settings.Data = `{"name": "{{.Number}}{{if eq .Number 4}}{{randomInt 2 1}}{{end}}"}`
		arm := run(t, settings).Arms[0]
		if arm.Calls != 10 || arm.Errors["PERMISSION_DENIED"] != 1 || arm.Errors["INTERNAL"] != 1 || arm.Backends[settings.Target] != 8 {
			t.Errorf("%s: %d calls, errors %v %v, backends %v; want 10 calls, of which 1 PERMISSION_DENIED and 1 INTERNAL",
				engine, arm.Calls, arm.Errors, arm.Samples, arm.Backends)
		}
		if sample := arm.Samples["INTERNAL"]; !strings.HasPrefix(sample, "create the message: ") || !strings.Contains(sample, "randomInt 2 1") {
			t.Errorf("%s: the call whose template fails has the error %q, want one that names randomInt 2 1", engine, sample)
		}
		if names, wrong := service.received(); wrong != 0 || len(names) != 9 || names["4"]+names[""] != 0 {
			t.Errorf("%s: %d calls without their metadata, names %v; want 0 and every name but 4", engine, wrong, names)
		}
	}
}

// Nine of ten calls fail at once. Their latency is their deadline, not that of the others.
func TestLostCallsCountAsTheirDeadline(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		settings := validSettings()
		settings.Engine, settings.Target, settings.Calls, settings.Concurrency = engine, serve(t, &strictGreeter{names: map[string]int{}}), 100, 2
		settings.Data, settings.Timeout = `{"name": "{{if lt .Number 10}}a{{else}}7{{end}}"}`, 20*time.Second
		arm := run(t, settings).Arms[0]
		if arm.Latency.Lost != 0.9 || arm.Latency.P50 < 20_000 || arm.Answers().Max >= 20_000 || arm.Answers().Empty() {
			t.Errorf("%s: lost %v, p50 %v ms of all calls, max %v ms of the successful ones; want 0.9, at least 20,000 ms and less than that",
				engine, arm.Latency.Lost, arm.Latency.P50, arm.Answers().Max)
		}
		limit, err := condition.Parse("p95 < 150ms")
		if err != nil {
			t.Fatal(err)
		}
		if failed := limit.Check(arm.Measures); len(failed) != 1 {
			t.Errorf("%s: %s holds although 90 %% of the calls failed", engine, limit)
		}
	}
}

func TestTemplatesSeeOneWorkerNumberForEachUser(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		settings := validSettings()
		seen := &strictGreeter{names: map[string]int{}}
		settings.Engine, settings.Target, settings.Calls, settings.Concurrency = engine, serve(t, seen), 50, 3
		settings.Metadata = []string{"token: x", "key-bin: AQI="}
		settings.Data = `{"name": "{{.Worker}}"}`
		run(t, settings)
		if names, _ := seen.received(); names["0"]+names["1"]+names["2"] != 50 {
			t.Errorf("%s: the worker numbers are %v, want 0 to 2 for 50 calls of 3 users", engine, names)
		}
	}
}

// serve serves a greeter until the test ends.
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

// strictGreeter counts names and calls without the expected metadata. It rejects the name 7.
type strictGreeter struct {
	rpclabv1.UnimplementedGreeterServer
	mu    sync.Mutex
	names map[string]int
	wrong int
}

// received returns the names of the calls, and how many calls lacked their metadata.
func (g *strictGreeter) received() (names map[string]int, wrong int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.names), g.wrong
}

func (g *strictGreeter) SayHello(ctx context.Context, request *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.names[request.Name]++
	md, _ := metadata.FromIncomingContext(ctx)
	if !slices.Equal(md["token"], []string{"x"}) || !slices.Equal(md["key-bin"], []string{"\x01\x02"}) {
		g.wrong++
	}
	if request.Name == "7" {
		return nil, status.Error(codes.PermissionDenied, "no sevens")
	}
	return &rpclabv1.HelloReply{}, nil
}

func TestAnUnreachableTargetIsReportedBeforeTheLoad(t *testing.T) {
	unreachable := with(func(s *Settings) { s.Target = "127.0.0.1:1" })
	for _, s := range []Settings{unreachable, {Target: "http://127.0.0.1:1/", HTTP: "GET", MaxInFlight: 1, Timeout: time.Second}} {
		_, err := Open(t.Context(), s)
		if err == nil || errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "cannot connect to") || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: the error is %v, want one that says connection refused", s.Target, err)
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
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
