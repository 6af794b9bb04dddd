package e2e

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

func TestLoadOfAServiceFile(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "load.html")
	file := stranger(t)
	d, _ := runLoad(t, "--service", file, "--call", "hello", "--rate", "200", "--duration", "4s", "--rounds", "2", "--assert", "errors == 0", "--html", page)
	arm := d.Arms[0]
	if d.Experiment != "load" || len(d.Arms) != 1 || len(arm.Trials) != 2 || arm.Calls != 1600 || arm.Failed() > 0 {
		t.Errorf("%s: %d arms, %d trials, %d calls, %v failed (%v), want one arm with 1,600 calls in two rounds",
			d.Experiment, len(d.Arms), len(arm.Trials), arm.Calls, arm.Errors, arm.Samples)
	}
	// The command repeats the load, and no more: it writes no files and waits for no other run.
	if want := fmt.Sprint(filepath.Base(file), " --call hello --rate 200 --duration 4s --rounds 2 --seed ", d.Seed); !strings.HasPrefix(d.Command, "rpclab load --service ") || !strings.HasSuffix(d.Command, want) {
		t.Errorf("the command is %q, want rpclab load --service …/%s", d.Command, want)
	}
	if want := sayHello + ": open loop of 200 calls/s for 4s"; d.Question != want {
		t.Errorf("the question is %q, want %q", d.Question, want)
	}
	for _, id := range []string{"hello-0", "hello-1", "hello-2"} {
		if n := arm.Backends[id]; n < 530 || n > 537 {
			t.Errorf("%s answered %d of 1,600 calls, want a third: %v", id, n, arm.Backends)
		}
	}
	if arm.Resources.Server.CPU <= 0 {
		t.Error("the servers' CPU time is not known, although rpclab started them")
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SayHello", "<code>errors == 0</code> holds", `data-chart="overtime"`, `data-chart="timeline"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report lacks %s", want)
		}
	}
}

// A load without a comparison starts one replica unless the file says otherwise.
func TestALoadOfAServiceFileWithoutReplicasStartsOne(t *testing.T) {
	t.Parallel()
	d, _ := runLoad(t, "--service", stranger(t, "  replicas: 3\n", ""), "-c", "2", "-n", "50")
	if a := d.Arms[0]; a.Calls != 50 || a.Failed() > 0 || len(a.Backends) != 1 || a.Backends["hello-0"] != 50 {
		t.Errorf("%d calls, errors %v, backends %v; want 50 calls of the only backend hello-0", a.Calls, a.Samples, a.Backends)
	}
}

func TestTheSummaryOfALoadOfAServiceFileIsThatOfALoad(t *testing.T) {
	t.Parallel()
	s := rpclab(t, "load", "--service", stranger(t), "-c", "2", "-n", "100", "--assert", "p50 > 1h")
	if s.code != 1 {
		t.Errorf("exit code %d, want 1 for an assertion that fails", s.code)
	}
	for _, want := range []string{sayHello + " at hello\nclosed loop of 2 users, 100 calls at most\n", "\n100 calls in ", "\nlatency ", "- hello-0: ", "Show this report again: `rpclab report "} {
		if !strings.Contains(s.stdout, want) {
			t.Errorf("the summary lacks %q:\n%s%s", want, s.stdout, s.stderr)
		}
	}
}

// A load of a service that does not start has no figures.
func TestALoadOfAServiceThatDoesNotStart(t *testing.T) {
	t.Parallel()
	s := rpclab(t, "load", "--service", stranger(t, "server\", \"--listen", "server\", \"--lisen"), "-n", "10")
	if s.code != 3 || !strings.Contains(s.stdout, "The load was not measured.") || strings.Contains(s.stdout, " failed") || strings.Contains(s.stdout, "interrupted") {
		t.Errorf("exit code %d, want 3 and no figures:\n%s%s", s.code, s.stdout, s.stderr)
	}
}

func TestALoadOfAMixOfCalls(t *testing.T) {
	t.Parallel()
	file := stranger(t, "calls:\n", "calls:\n  again: {method: rpclab.v1.Greeter/SayHello, data: {name: you}}\n")
	s := rpclab(t, "load", "--service", file, "--mix", "hello=75%,again=25%", "-c", "2", "-n", "200")
	for _, want := range []string{"again=25%,hello=75% at hello\n", "\nagain ", "\nhello ", " 50 ", " 150 "} {
		if !strings.Contains(s.stdout, want) {
			t.Errorf("the summary lacks %q:\n%s%s", want, s.stdout, s.stderr)
		}
	}
}

func TestALoadOfAFlowOfCalls(t *testing.T) {
	t.Parallel()
	file := stranger(t, "calls:\n", "calls:\n  again: {method: rpclab.v1.Greeter/SayHello, data: {name: \"{{.greeting}}\"}, from: {greeting: hello.message}}\n")
	s := rpclab(t, "load", "--service", file, "--flow", "hello,again", "-c", "2", "-n", "100")
	for _, want := range []string{"hello, then again at hello\n", "\n100 calls in "} {
		if !strings.Contains(s.stdout, want) {
			t.Errorf("the summary lacks %q:\n%s%s", want, s.stdout, s.stderr)
		}
	}
	if again := regexp.MustCompile(`(?m)^again +100 +0 `); !again.MatchString(s.stdout) {
		t.Errorf("the summary lacks 100 calls of again:\n%s", s.stdout)
	}
	reads := stranger(t, "calls:\n", "calls:\n  again: {method: rpclab.v1.Greeter/SayHello, data: {name: x}, from: {date: 'headers.hello[\"date\"]'}}\n")
	if wire := rpclab(t, "load", "--service", reads, "--flow", "hello,again"); wire.code != 2 || !strings.Contains(wire.stderr, "the caller wire does not read headers and trailers, which from of a call does: set caller.kind to grpc-go") {
		t.Errorf("headers with the engine wire: exit code %d, want 2 and another engine\n%s", wire.code, wire.stderr)
	}
}

// searchFlags are of a search whose end does not depend on the speed of this machine: the server answers 200 calls/s.
var searchFlags = []string{"--search-from", "20", "--search-to", "2000", "--search-precision", "10%", "--duration", "600ms"}

// A server that answers four calls at a time, each in 20 ms, answers 200 calls/s. A queue of 600 ms makes calls wait
// for less than 150 ms up to 250 calls/s.
func TestALoadSearchesForTheHighestRate(t *testing.T) {
	t.Parallel()
	slow := []string{`"--delay", "2ms"`, `"--delay", "20ms", "--workers", "4"`, "replicas: 3", "replicas: 1"}
	s := rpclab(t, append([]string{"load", "--service", stranger(t, slow...), "--search", "p99 < 150ms && errors < 1%", "--json", "-"}, searchFlags...)...)
	holdsAtMost(t, s, 280)
}

func TestALoadOfAnAddressSearchesForTheHighestRate(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t, "--delay", "20ms", "--workers", "4")
	s := rpclab(t, append([]string{"load", "--call", sayHello, "--search", "p99 < 150ms && errors < 1%", "--json", "-", address}, searchFlags...)...)
	holdsAtMost(t, s, 280)
}

// holdsAtMost checks the result of a search that found a rate. On a busy machine it can be lower.
func holdsAtMost(t *testing.T, s said, most float64) {
	t.Helper()
	if s.code != 0 {
		t.Fatalf("exit code %d, want 0\n%s", s.code, s.stderr)
	}
	d := resulttest.Read(t, strings.NewReader(s.stdout))
	arm := d.Arms[0]
	if d.Experiment != "load" || len(d.Arms) != 1 || arm.Capacity == nil || len(arm.Trials) != 1 || arm.Trials[0].Capacity == nil {
		t.Fatalf("%s with %d arms, %+v; want a load with one search", d.Experiment, len(d.Arms), arm.Capacity)
	}
	c := arm.Trials[0].Capacity
	if c.Holds < 20 || c.Holds > most || len(c.Probes) < 4 || c.SLO != "p99 < 150ms && errors < 1%" || arm.Calls == 0 || arm.Latency.P99 >= 150 {
		t.Errorf("%g/s holds after %d probes (%s), p99 is %g ms; want at most %g/s", c.Holds, len(c.Probes), c.End, arm.Latency.P99, most)
	}
	if !strings.Contains(d.Question, ": search from 20/s to 2000/s, to 10%, for the highest rate at which p99 < 150ms") {
		t.Errorf("the question is %q", d.Question)
	}
}

// An objective that no rate meets fails as an assertion does, and the summary has the probes. The server is slow, so
// that calls that rpclab sends late are not the reason.
func TestASearchOfALoadWithoutARateThatHolds(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(_ int, wrong func(string, ...any)) {
		s := rpclab(t, append([]string{"load", "--service", stranger(t, "replicas: 3", "replicas: 1", "2ms", "300ms"), "--search", "p99 < 1us"}, searchFlags...)...)
		if s.code != 1 || !strings.Contains(s.stderr, "rpclab: --search p99 < 1us: no rate holds\n") {
			wrong("exit code %d, want 1\n%s", s.code, s.stderr)
		}
		if !strings.Contains(s.stdout, "p99 < 1us holds in none of ") || !strings.Contains(s.stdout, "not even 20/s, the lowest") || strings.Contains(s.stdout, "µs CPU per call") {
			wrong("the summary does not say that no rate holds:\n%s", s.stdout)
		}
	})
}

func TestWrongLoadsOfServiceFiles(t *testing.T) {
	t.Parallel()
	file := stranger(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--service", file, "127.0.0.1:1"}, "says where the service is, but got the target"},
		{[]string{"--service", file, "--call", "helo"}, `no call "helo"; did you mean "hello"?`},
		{[]string{"--service", file, "--stages", "1s:5"}, "--stages works with an address only, not with --service: remove one of them"},
		{[]string{"--service", file, "-d", "{}"}, "--data does not work with --service: the service file says how"},
		{[]string{"--service", file, "--rate", "5", "-c", "3"}, "--concurrency makes a closed loop"},
		{[]string{"--service", file, "--rate", "-5"}, "--rate must be 0.001 to 10000000 calls/s"},
		{[]string{"--service", file, "--rate", "nan"}, "--rate must be 0.001 to 10000000 calls/s"},
		{[]string{"--service", file, "--think", "-1s"}, "--think must be a duration such as 100ms"},
		{[]string{"--service", file, "--engine", "http"}, "--engine http: unknown engine"},
		{[]string{"--service", file, "--self-test"}, "--self-test measures rpclab alone: leave out --service"},
		{[]string{"--service", file, "--mix", "helo=1"}, "did you mean \"hello\"?"},
		{[]string{"--mix", "hello=1", "127.0.0.1:1"}, "--mix and --flow name calls of a service file: add --service FILE"},
		{[]string{"--service", file, "--search", "p98 < 5ms"}, `--search "p98 < 5ms", column 1: no metric "p98"`},
		{[]string{"--service", file, "--search", "p99 < 5ms", "--rate", "5"}, "--search sets the rates: leave out --rate and --stages"},
		{[]string{"--service", file, "--search", "p99 < 5ms", "-n", "5"}, "--search makes loads of a duration: leave out --calls"},
		{[]string{"--service", file, "--search", "p99 < 5ms", "-c", "5"}, "--concurrency makes a closed loop"},
		{[]string{"--service", file, "--search", "p99 < 5ms", "--search-from", "9", "--search-to", "8"}, "--search-to must be more than --search-from, 9/s, not 8/s"},
		{[]string{"--service", file, "--search", "p99 < 5ms", "--search-precision", "2"}, "--search-precision 2: use 0.1% to 50%"},
		{[]string{"--service", file, "--rate", "5", "-n", "5", "--arrivals", "poisson"}, "--calls with --arrivals poisson does not work with --service: set --duration"},
		{[]string{"--service", file, "--max-in-flight", "5"}, "--max-in-flight limits an open loop: set --rate"},
		{[]string{"--service", file, "--search-to", "50"}, "--search-to needs --search: set the condition"},
		{[]string{"--service", "none.yaml"}, "cannot read the service file: open none.yaml"},
		{[]string{"--listen", "127.0.0.1:1", "--call", sayHello, "127.0.0.1:1"}, "--listen is the address of the page: add --web"},
	} {
		s := rpclab(t, append([]string{"load"}, c.args...)...)
		if s.code != 2 || !strings.Contains(s.stderr, c.want) {
			t.Errorf("load %s: exit code %d, want 2 and %q\n%s", strings.Join(c.args, " "), s.code, c.want, s.stderr)
		}
	}
}

// A load shows its calls on the page and to Prometheus, and the page stops it.
func TestALoadIsShownWhileItRuns(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	c := command(t, t.TempDir(), "load", "--call", sayHello, "--rate", "100", "--duration", "10m", "--web", "--listen", "127.0.0.1:0",
		"--metrics", "127.0.0.1:0", "--json", "-", address)
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	c.Stdout = &stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`http://[0-9.:]+/`)
	lines := bufio.NewReader(stderr)
	url := func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return at.FindString(line)
	}
	metrics, page := url(), url()
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	counted := regexp.MustCompile(`rpclab_calls_total\{[^}]*code="OK"\} [1-9]`)
	testkit.Await(t, "the metrics count no call", func() bool {
		text, err := fetch(metrics + "metrics")
		return err == nil && counted.MatchString(text)
	})
	live, err := fetch(page + "api/v1/live")
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(live)
	if id == nil {
		t.Fatalf("the page shows no run: %s", live)
	}
	response, err := http.Post(page+"api/v1/runs/"+id[1]+"/stop", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	_ = c.Wait()
	d := resulttest.Read(t, strings.NewReader(stdout.String()))
	if code := c.ProcessState.ExitCode(); code != 130 || !d.Partial || d.Arms[0].Calls == 0 {
		t.Errorf("exit code %d, partial: %v, %d calls; stopping answered %s", code, d.Partial, d.Arms[0].Calls, response.Status)
	}
}

func fetch(url string) (string, error) {
	response, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// A draft of an OpenAPI document runs as it is written.
func TestInitOfAnOpenAPIDocument(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Method+" "+r.URL.String()+" "+r.Header.Get("X-Tenant"), true)
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	s := rpclab(t, "init", address, "--openapi", "../../internal/service/draft/testdata/shop.openapi.yaml")
	if s.code != 0 {
		t.Fatalf("exit code %d\n%s", s.code, s.stderr)
	}
	file := filepath.Join(t.TempDir(), "orders.yaml")
	if err := os.WriteFile(file, []byte(s.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"list-orders", "create-order"} {
		d, _ := runLoad(t, "--service", file, "--call", call, "-c", "2", "-n", "50")
		if arm := d.Arms[0]; arm.Calls != 50 || arm.Failed() > 0 {
			t.Errorf("%s: %d calls, failed: %v %v", call, arm.Calls, arm.Errors, arm.Samples)
		}
	}
	for _, want := range []string{"GET /api/v1/orders?customer=1 blue", "POST /api/v1/orders blue"} {
		if _, ok := seen.Load(want); !ok {
			t.Errorf("the server received no request %s", want)
		}
	}
	for _, wrong := range []string{server.URL, "127.0.0.1"} {
		if s := rpclab(t, "init", wrong, "--openapi", "../../internal/service/draft/testdata/shop.openapi.yaml"); s.code != 2 || !strings.Contains(s.stderr, "use HOST:PORT") {
			t.Errorf("the address %s: exit code %d, %s", wrong, s.code, s.stderr)
		}
	}
	refused := rpclab(t, "init", address, "--openapi", "none.yaml")
	if refused.code != 2 || !strings.Contains(refused.stderr, "--openapi: open none.yaml") {
		t.Errorf("a file that does not exist: exit code %d, %s", refused.code, refused.stderr)
	}
}

func TestInitOfAServerWithTLS(t *testing.T) {
	t.Parallel()
	certificate, _ := testkit.Certificate(t, "127.0.0.1")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	healthgrpc.RegisterHealthServer(server, health.NewServer())
	rpclabv1.RegisterGreeterServer(server, rpclabv1.UnimplementedGreeterServer{})
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	plain := rpclab(t, "init", listener.Addr().String())
	if plain.code != 3 || !strings.Contains(plain.stderr, "--tls") {
		t.Errorf("init without TLS: exit code %d, %s", plain.code, plain.stderr)
	}
	s := rpclab(t, "init", listener.Addr().String(), "--cacert", ca)
	if s.code != 0 || !strings.Contains(s.stdout, "\ntls: {cacert: "+ca+"}\n") {
		t.Fatalf("init with TLS: exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
	file := filepath.Join(t.TempDir(), "greeter.yaml")
	if err := os.WriteFile(file, []byte(s.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := runLoad(t, "--service", file, "-n", "10", "-c", "1")
	if arm := d.Arms[0]; arm.Errors["UNIMPLEMENTED"] != 10 {
		t.Errorf("%d calls, errors %v, want 10 that the server answers with UNIMPLEMENTED", arm.Calls, arm.Samples)
	}
}

// A virtual host answers to the name in server.addresses, also the readiness check.
func TestCallsAndChecksSendTheNameInAddresses(t *testing.T) {
	t.Parallel()
	var wrong sync.Map
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, port, _ := net.SplitHostPort(r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
		sni := "localhost"
		if r.TLS != nil {
			sni = r.TLS.ServerName
		}
		if r.Host != "localhost:"+port || sni != "localhost" {
			wrong.Store(fmt.Sprintf("%s with Host %s, SNI %s", r.URL, r.Host, sni), true)
			w.WriteHeader(http.StatusMisdirectedRequest)
		}
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	for url, more := range map[string]string{plain.URL: "", secure.URL: "tls: {insecure: true}\n"} {
		file := filepath.Join(t.TempDir(), "shop.yaml")
		address := url[strings.LastIndex(url, ":"):]
		text := "service: shop\nserver: {addresses: [\"localhost" + address + "\"], ready: {http: /healthz}}\ncalls: {get: {http: GET, path: /}}\n" + more
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if d, _ := runLoad(t, "--service", file, "-c", "1", "-n", "10"); d.Arms[0].Calls != 10 || d.Arms[0].Failed() > 0 {
			t.Errorf("%d calls, errors %v %v", d.Arms[0].Calls, d.Arms[0].Errors, d.Arms[0].Samples)
		}
	}
	wrong.Range(func(request, _ any) bool { t.Errorf("the server received %s", request); return true })
}
