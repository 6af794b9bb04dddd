package load

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"rpclab/internal/pace"
)

// validSettings returns settings that Check accepts.
func validSettings() Settings {
	return Settings{
		Target: "127.0.0.1:50051", Call: "rpclab.v1.Greeter/SayHello",
		MaxInFlight: 100, Timeout: time.Minute, Engine: Wire, Self: []string{os.Args[0]},
	}
}

func with(change func(*Settings)) Settings {
	s := validSettings()
	change(&s)
	return s
}

func TestContradictorySettingsAreRejected(t *testing.T) {
	if err := validSettings().Check(); err != nil {
		t.Fatal(err)
	}
	for want, settings := range map[string]Settings{
		"set what to call":                   with(func(s *Settings) { s.Call = "" }),
		"is not an address":                  with(func(s *Settings) { s.Target = "localhost" }),
		"is not a port":                      with(func(s *Settings) { s.Target = "localhost:99999" }),
		"is a URL":                           with(func(s *Settings) { s.Target = "http://localhost:80" }),
		"is not a URL":                       with(func(s *Settings) { s.HTTP, s.Call = "GET", "" }),
		`did you mean "PATCH"`:               with(func(s *Settings) { s.HTTP, s.Call = "PACTH", "" }),
		"--http makes REST calls":            with(func(s *Settings) { s.HTTP = "GET" }),
		"set one of them":                    with(func(s *Settings) { s.Proto, s.Protoset = "a", "b" }),
		"--import-path needs --proto":        with(func(s *Settings) { s.ImportPaths = []string{"."} }),
		"--rate and --stages":                with(func(s *Settings) { s.Rate, s.Stages = 1, "1s:1" }),
		"--concurrency makes a closed loop":  with(func(s *Settings) { s.Rate, s.Concurrency = 1, 1 }),
		"--think needs a closed loop":        with(func(s *Settings) { s.Rate, s.Think = 1, time.Second }),
		"--arrivals needs an open loop":      with(func(s *Settings) { s.Poisson = true }),
		"--stages set the duration":          with(func(s *Settings) { s.Stages, s.Duration = "1s:1", time.Second }),
		"--rate must be 0.001 to 10000000":   with(func(s *Settings) { s.Rate = math.Inf(1) }),
		"--rate must be 0.001":               with(func(s *Settings) { s.Rate = 1e-10 }),
		"--concurrency must be 1 to":         with(func(s *Settings) { s.Concurrency = -1 }),
		"--timeout must be a duration":       with(func(s *Settings) { s.Timeout = 0 }),
		"--max-in-flight must be 1 to":       with(func(s *Settings) { s.MaxInFlight = 0 }),
		"--messages must be 0 to":            with(func(s *Settings) { s.Messages = -1 }),
		"apply to gRPC streams":              with(func(s *Settings) { s.HTTP, s.Call, s.Target, s.PingPong = "GET", "", "http://localhost", true }),
		"per-call needs --engine wire":       with(func(s *Settings) { s.PerCall, s.Engine = true, GRPCGo }),
		"--http2 applies to REST":            with(func(s *Settings) { s.HTTP2 = true }),
		"makes gRPC calls only":              with(func(s *Settings) { s.HTTP, s.Call, s.Engine = "GET", "", GRPCGo }),
		"need HTTP/2":                        with(func(s *Settings) { s.HTTP, s.Call, s.KeepAlive = "GET", "", time.Second }),
		"does not use TLS":                   with(func(s *Settings) { s.HTTP, s.Call, s.Target, s.TLS.Insecure = "GET", "", "http://localhost", true }),
		"--warmup must be a number":          with(func(s *Settings) { s.Warmup = -1 }),
		"--connections must be 1 to":         with(func(s *Settings) { s.Connections = MaxUsers + 1 }),
		"and 127.0.0.1:50051 is one":         with(func(s *Settings) { s.Balance = RoundRobin }),
		"and unix:///a is one":               with(func(s *Settings) { s.Balance, s.Target = RoundRobin, "unix:///a" }),
		"and [::1]:80 is one":                with(func(s *Settings) { s.HTTP, s.Call, s.Target, s.Balance = "GET", "", "http://[::1]", RoundRobin }),
		"which --streams and --idle-close":   with(func(s *Settings) { s.PerCall, s.IdleClose = true, time.Second }),
		"--duration must be a duration such": with(func(s *Settings) { s.Duration = -1 }),
	} {
		if err := settings.Check(); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrInvalid) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

func TestDescriptionsOfPaces(t *testing.T) {
	for want, settings := range map[string]Settings{
		"closed loop of 50 users for 10s":                        validSettings(),
		"closed loop of 3 users, think time 1s, 7 calls at most": with(func(s *Settings) { s.Concurrency, s.Calls, s.Think = 3, 7, time.Second }),
		"closed loop of 1 user, 1 call at most":                  with(func(s *Settings) { s.Concurrency, s.Calls = 1, 1 }),
		"open loop of 500 calls/s for 10s":                       with(func(s *Settings) { s.Rate = 500 }),
		"open loop of 0.5 calls/s, 9 calls at most":              with(func(s *Settings) { s.Rate, s.Calls = 0.5, 9 }),
		"open loop of 2 calls/s at random moments for 3s":        with(func(s *Settings) { s.Rate, s.Poisson, s.Duration = 2, true, 3*time.Second }),
		"open loop in stages 1s:10,2s:0":                         with(func(s *Settings) { s.Stages = "1s:10,2s:0" }),
	} {
		p, err := settings.Pace()
		if err != nil {
			t.Errorf("%s: %v", want, err)
		} else if got := settings.describe(p); got != want {
			t.Errorf("the pace is described as %q, want %q", got, want)
		}
	}
}

func TestTheNumberOfCallsLimitsAnOpenLoop(t *testing.T) {
	plan, err := with(func(s *Settings) { s.Rate, s.Calls = 100, 3 }).Pace()
	if err != nil {
		t.Fatal(err)
	}
	if _, more := plan.Next(2, 0); !more {
		t.Error("the third of 3 calls is not due, want it due")
	}
	if _, more := plan.Next(3, 0); more {
		t.Error("a fourth of 3 calls is due, want none")
	}
}

func TestStagesAreParsed(t *testing.T) {
	got, err := parseStages("10s:100, 500ms:0,0s:1.5/s")
	want := []pace.Stage{{Duration: 10 * time.Second, Rate: 100}, {Duration: 500 * time.Millisecond}, {Rate: 1.5}}
	if err != nil || len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("the stages are %v, %v; want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"10s":         `column 1: "10s" is not a stage`,
		"10s:5,:7":    `column 7: "" is not a duration`,
		"-1s:5":       `"-1s" is not a duration`,
		"1s:fast":     `"fast" is not a rate`,
		"1s:NaN":      `"NaN" is not a rate`,
		"1s:-2":       `"-2" is not a rate`,
		"0s:5,0s:100": "have no duration",
		"1s:0,2s:0":   "have no calls",
		"1s:5,":       "is not a stage",
	} {
		if _, err := parseStages(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("stages %s: the error is %v, want %q", text, err, want)
		}
	}
}

func TestMetadataIsParsed(t *testing.T) {
	s := validSettings()
	s.Metadata = []string{"Token: a: b", "token:c", "key-bin: AQI="}
	headers, err := s.headers()
	if err != nil {
		t.Fatal(err)
	}
	md, err := grpcMetadata(headers)
	if err != nil || strings.Join(md["token"], "|") != "a: b|c" || md["key-bin"][0] != "\x01\x02" {
		t.Errorf("the metadata is %v, %v; want token: a: b and c, key-bin: 0x01 0x02", md, err)
	}
	for _, line := range []string{"token", ": x", "a b: c", "a: b\r\nc: d"} {
		if _, err := (Settings{Metadata: []string{line}}).headers(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q gave %v", line, err)
		}
	}
	for _, line := range []string{"key-bin: ?", "TE: x", "Content-Type: application/json", "connection: close", "grpc-timeout: 1S"} {
		headers, err := (Settings{Metadata: []string{line}}).headers()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := grpcMetadata(headers); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q gave %v", line, err)
		}
	}
}

// A connection with TLS has goroutines that use other processors than the thread of the engine.
func TestALoadWithTLSMayUseEveryProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for want, settings := range map[int]Settings{
		1: validSettings(),
		3: with(func(s *Settings) { s.TLS.Insecure = true }),
	} {
		if got := settings.threads(); got != want {
			t.Errorf("%+v can use %d processors, want %d", settings.TLS, got, want)
		}
	}
	if got := (Settings{HTTP: "GET", Target: "https://localhost"}).threads(); got != 3 {
		t.Errorf("https can use %d processors, want 3", got)
	}
}
