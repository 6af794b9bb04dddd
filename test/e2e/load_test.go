package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

const sayHello = "rpclab.v1.Greeter/SayHello"

// greeterAt starts a server until the end of the test and returns its address.
func greeterAt(t *testing.T, args ...string) (address string, server *exec.Cmd) {
	t.Helper()
	server = exec.Command(testkit.Rpclab(t), append([]string{"server", "--listen", "127.0.0.1:0", "--id", "one"}, args...)...)
	out, in := io.Pipe()
	server.Stderr = in
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGCONT)
		_ = server.Process.Kill()
		_ = server.Wait()
		in.Close()
	})
	said := make([]byte, 4096)
	n, err := out.Read(said)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	address = string(regexp.MustCompile(`127\.0\.0\.1:\d+`).Find(said[:n]))
	if address == "" {
		t.Fatalf("the server printed no address: %q", said[:n])
	}
	return address, server
}

// runLoad runs a load that must succeed and reads its result.
func runLoad(t *testing.T, args ...string) (result.Document, said) {
	t.Helper()
	s := rpclab(t, append([]string{"load", "--json", "-"}, args...)...)
	if s.code != 0 {
		t.Fatalf("rpclab load %s: exit code %d\n%s", strings.Join(args, " "), s.code, s.stderr)
	}
	return resulttest.Read(t, strings.NewReader(s.stdout)), s
}

func TestLoadReportFitsIn80Columns(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	s := rpclab(t, "load", "--call", sayHello, "-d", `{"name": "you"}`, "--concurrency", "4", "--calls", "500",
		"--assert", "errors == 0 && calls == 500", "--assert", "max < 1m", address)
	if s.code != 0 || s.stderr != "" {
		t.Errorf("exit code %d, %s", s.code, s.stderr)
	}
	for _, part := range []string{sayHello + " at " + address, "closed loop of 4 users, 500 calls at most",
		"500 calls in ", "█", "p99.9", "latency", "lateness", "- one: 500 calls (100 %)", "its ceiling on this machine", "bare TCP"} {
		if !strings.Contains(s.stdout, part) {
			t.Errorf("the report does not contain %q:\n%s", part, s.stdout)
		}
	}
	for line := range strings.Lines(s.stdout) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("a line has %d columns, want at most 80: %s", n, line)
		}
	}
}

func TestLoadWritesAResultDocument(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	d, _ := runLoad(t, "--call", sayHello, "-d", `[{"name": "a"}, {"name": "{{uuid}}"}]`, "--stages", "0s:200,500ms:200,500ms:0",
		"--arrivals", "poisson", "--seed", "7", "--timeout", "25s", address)
	a := arm(t, d, address)
	if d.Seed != 7 || a.Calls < 100 || a.Calls > 200 || len(a.Errors) > 0 || a.Config["generator"] == nil || a.Lateness.Empty() {
		t.Errorf("seed %d, %d calls, errors %v, config %v", d.Seed, a.Calls, a.Errors, a.Config)
	}
	if text := rpclab(t, "load", "--json", "-", "--call", sayHello, "--calls", "1", "--concurrency", "1", address).stdout; strings.Count(text, `"server": null`) != 2 {
		t.Errorf("the usage of the server is known in the arm or the trial, want null\n%.3000s", text)
	}
}

// reflectionInfo is a method with streams in both directions.
const reflectionInfo = "grpc.reflection.v1.ServerReflection/ServerReflectionInfo"

func TestLoadMeasuresStreams(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	args := []string{"--call", reflectionInfo, "-d", `{"list_services": "*"}`, "--messages", "20", "--ping-pong",
		"--concurrency", "3", "--calls", "30", "--assert", "errors == 0 && message_p50 < 1s", address}
	for _, engine := range []string{"wire", "grpc-go"} {
		d, _ := runLoad(t, append([]string{"--engine", engine}, args...)...)
		a := arm(t, d, address)
		if a.Calls != 30 || a.Messages == nil || a.Messages.P50 <= 0 || a.Messages.P99 > a.Service.Max {
			t.Errorf("%s: %d calls, errors %v, messages %+v; want 30 calls and the latency of their messages", engine, a.Calls, a.Errors, a.Messages)
		}
	}
	s := rpclab(t, append([]string{"load"}, args...)...)
	for _, part := range []string{"each call a stream of 20 requests", "\nmessages ", "messages: 600 responses, each counted from when"} {
		if s.code != 0 || !strings.Contains(s.stdout, part) {
			t.Errorf("exit code %d, want 0 and a report with %q:\n%s%s", s.code, part, s.stdout, s.stderr)
		}
	}
}

func TestLoadWithAConnectionPerCall(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	d, _ := runLoad(t, "--call", sayHello, "--connections", "per-call", "--concurrency", "3", "--calls", "50", address)
	if a := arm(t, d, address); a.Calls != 50 || len(a.Errors) > 0 || a.Channel != "per-call" {
		t.Errorf("%d calls, errors %v %v, %s", a.Calls, a.Errors, a.Samples, a.Channel)
	}
}

// TestLoadIsStoredLikeARun lists, reports and compares stored loads.
func TestLoadIsStoredLikeARun(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	data := t.TempDir()
	load := func(args ...string) string {
		t.Helper()
		s := rpclabIn(t, data, append([]string{"load", "--call", sayHello, "--concurrency", "2", "--calls", "200", address}, args...)...)
		if s.code != 0 {
			t.Fatalf("exit code %d\n%s", s.code, s.stderr)
		}
		return s.stdout
	}
	shown, again, ok := strings.Cut(load(), "\nShow this report again: `rpclab report ")
	if id := strings.TrimSuffix(again, "`\n"); !ok || rpclabIn(t, data, "report", id).stdout != shown {
		t.Errorf("report %q shows\n%s\nbut the load showed\n%s", id, rpclabIn(t, data, "report", id).stdout, shown)
	}
	if text := load("--no-store"); strings.Contains(text, "Show this report again") {
		t.Errorf("a load with --no-store prints the command for its report:\n%s", text)
	}
	load("--json", filepath.Join(data, "out.json"))
	list := rpclabIn(t, data, "runs").stdout
	runs := regexp.MustCompile(`(?m)^(\S+) +load +done +1 +1$`).FindAllStringSubmatch(list, -1)
	if len(runs) != 2 {
		t.Fatalf("rpclab runs lists %d loads, want 2:\n%s", len(runs), list)
	}
	if s := rpclabIn(t, data, "compare", "--allow", "busy", runs[0][1], runs[1][1]); s.code != 0 || !strings.Contains(s.stdout, "\n"+address+"  ") {
		t.Errorf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
}

// Two loads of four rounds have the trials that a gate needs.
func TestTwoLoadsOfSeveralRoundsCanBeCompared(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	var files []string
	for _, delay := range []string{"20ms", "60ms"} {
		address, _ := greeterAt(t, "--delay", delay)
		files = append(files, filepath.Join(data, delay+".json"))
		s := rpclabIn(t, data, "load", "--call", sayHello, "--concurrency", "2", "--calls", "30", "--rounds", "4",
			"--assert", "calls == 120", "--json", files[len(files)-1], address)
		if s.code != 0 || !strings.Contains(s.stdout, "120 calls in 4 rounds of ") || !strings.Contains(s.stdout, "\nround ") {
			t.Fatalf("exit code %d, want 0 and a report of 4 rounds\n%s%s", s.code, s.stdout, s.stderr)
		}
	}
	s := rpclabIn(t, data, append([]string{"compare", "--allow", "busy", "--gate", "p50 ratio < 1.5"}, files...)...)
	if s.code != 1 || !strings.Contains(s.stderr, "failed") || strings.Contains(s.stderr, "at least 4 are needed") {
		t.Errorf("a regression from 20 ms to 60 ms: exit code %d, want 1 of a gate that failed\n%s%s", s.code, s.stdout, s.stderr)
	}
	s = rpclabIn(t, data, "compare", "--allow", "busy", "--gate", "p50 ratio < 1.5", files[1], files[0])
	if s.code != 0 {
		t.Errorf("from 60 ms to 20 ms: exit code %d, want 0\n%s%s", s.code, s.stdout, s.stderr)
	}
}

func TestLoadReadsProtoAndDataFiles(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	file := filepath.Join(t.TempDir(), "names.ndjson")
	if err := os.WriteFile(file, []byte("{\"name\": \"a\"}\n{\"name\": \"b\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := runLoad(t, "--proto", "../../api/rpclab/v1/greeter.proto", "--import-path", "../../api",
		"--call", sayHello, "-d", "@"+file, "--calls", "100", "-H", "token: x", address)
	if a := d.Arms[0]; a.Calls != 100 || len(a.Errors) > 0 || a.Config["messages"] != 2.0 {
		t.Errorf("%d calls, errors %v, %v messages", a.Calls, a.Errors, a.Config["messages"])
	}
}

func TestLoadReportsByHowMuchAnAssertionFailed(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t, "--delay", "20ms")
	s := rpclab(t, "load", "--call", sayHello, "--concurrency", "2", "--calls", "20", "--json", "-",
		"--assert", "p50 < 10ms", "--assert", "errors == 0", "--assert", "calls > 1000", address)
	if s.code != 1 || !strings.Contains(s.stderr, "--assert p50 < 10ms: it is ") || !strings.Contains(s.stderr, "times as much") ||
		!strings.Contains(s.stderr, "--assert calls > 1000: it is 20, 98 % less") || strings.Contains(s.stderr, "errors") {
		t.Errorf("exit code %d\n%s", s.code, s.stderr)
	}
	resulttest.Read(t, strings.NewReader(s.stdout)) // the result is printed all the same
}

// The server answers two calls at a time, and the other calls are dropped. They are not fast.
func TestDroppedCallsFailALimitOfLatency(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t, "--delay", "100ms")
	s := rpclab(t, "load", "--call", sayHello, "--rate", "1000", "--duration", "1s", "--max-in-flight", "2", "--assert", "p95 < 1m", address)
	if s.code != 1 || !strings.Contains(s.stderr, "--assert p95 < 1m: it is over 20s, since 9") || !strings.Contains(s.stderr, " % of the calls were lost") {
		t.Errorf("exit code %d, want 1: most calls were dropped\n%s", s.code, s.stderr)
	}
	if !strings.Contains(s.stdout, ">20,000") || !strings.Contains(strings.Join(strings.Fields(s.stdout), " "), " % of the calls were lost; each counts as its deadline in latency (>), not in service") {
		t.Errorf("the summary does not show p95 as a lower bound:\n%s", s.stdout)
	}
}

func TestLoadCountsErrorsByCode(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t, "--delay", "1s")
	s := rpclab(t, "load", "--call", sayHello, "--concurrency", "3", "--calls", "3", "--timeout", "50ms", address)
	if s.code != 0 || !strings.Contains(s.stdout, "DEADLINE_EXCEEDED: 3 (100 %), first: ") {
		t.Errorf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
}

func TestAnInterruptedLoadReportsItsCallsSoFar(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	data := t.TempDir()
	c := command(t, data, "load", "--call", sayHello, "--rate", "100", "--duration", "1h", "--json", "-", address)
	var stdout bytes.Buffer
	c.Stdout = &stdout
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n') // the progress after 5 s
	if err != nil || !regexp.MustCompile(`^ +\d+ s +\d+/s  p50 .* ms  p99 .* ms  late .* ms  0 failed, \d+ open\n$`).MatchString(line) {
		t.Errorf("the progress line is %q, %v", line, err)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stderr)
	_ = c.Wait()
	d := resulttest.Read(t, &stdout)
	if code := c.ProcessState.ExitCode(); code != 130 || !d.Partial || d.Arms[0].Calls < 400 {
		t.Errorf("exit code %d, partial: %v, %d calls", code, d.Partial, d.Arms[0].Calls)
	}
	if list := rpclabIn(t, data, "runs").stdout; !strings.Contains(list, d.ID+"  load        partial ") {
		t.Errorf("rpclab runs does not list the load as partial:\n%s", list)
	}
}

func TestLoadSelfTestNeedsNoTarget(t *testing.T) {
	t.Parallel()
	s := rpclab(t, "load", "--self-test")
	if s.code != 0 || !strings.Contains(s.stdout, "its ceiling on this machine: ") || !strings.Contains(s.stdout, "its floor: p50 ") {
		t.Errorf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
}

// TestLoadRejectsWrongRequests compares each message with a golden file: what is wrong, where, and what
// to do.
func TestLoadRejectsWrongRequests(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	call := func(args ...string) []string { return append([]string{"--call", sayHello}, args...) }
	for name, args := range map[string][]string{
		"no-target":          call(),
		"no-call":            {address},
		"engine":             call("--engine", "grpc", address),
		"no-port":            call("localhost"),
		"no-socket":          call("unix://"),
		"socket-of-host":     call("unix://run/a.sock"),
		"balance":            call("--balance", "roundrobin", address),
		"balance-of-one":     call("--balance", "round_robin", "127.0.0.1:1"),
		"per-call-streams":   call("--connections", "per-call", "--streams", "5", address),
		"data-device":        call("-d", "@/dev/zero", address),
		"unknown-service":    {"--call", "rpclab.v1.Greter/SayHello", address},
		"unknown-method":     {"--call", "rpclab.v1.Greeter/SayHallo", address},
		"no-method":          {"--call", "SayHello", address},
		"messages-of-unary":  call("--messages", "5", address),
		"ping-pong":          {"--call", "grpc.health.v1.Health/Watch", "--ping-pong", address},
		"authority":          call("--authority", "shop.example", "--servername", "other.example", address),
		"connections":        call("--connections", "per-user", address),
		"per-call-engine":    call("--connections", "per-call", "--engine", "grpc-go", address),
		"source":             call("--source", "127.0.0.2", "--source", "192.0.2.1", address),
		"source-prefix":      call("--source", "127.0.0.0/8", address),
		"source-text":        call("--source", "loopback", address),
		"streams-engine":     call("--streams", "5", "--engine", "grpc-go", address),
		"zero-keepalive":     call("--keepalive", "0s", address),
		"idle-close":         call("--idle-close", "-1s", address),
		"data-field":         call("-d", `[{"name": "a"}, {"nmae": "b"}]`, address),
		"data-json":          call("-d", "{\n  \"name\": }", address),
		"data-template":      call("-d", `{"name": "{{.Nmber}}"}`, address),
		"data-file":          call("-d", "@no-such.json", address),
		"proto-file":         call("--proto", "no-such.proto", address),
		"metadata":           call("-H", "token", address),
		"stages":             call("--stages", "10s:100,30s", address),
		"rate-and-users":     call("--rate", "10", "--concurrency", "2", address),
		"zero-rate":          call("--rate", "0", address),
		"arrivals":           call("--arrivals", "poison", "--rate", "5", address),
		"assert-metric":      call("--assert", "p98 < 50ms", address),
		"assert-unit":        call("--assert", "errors == 0 && p99 < 50", address),
		"zero-stage":         call("--stages", "1s:1e-9", address),
		"closed-in-flight":   call("--max-in-flight", "5", address),
		"http-import-path":   {"--http", "GET", "--import-path", ".", "http://" + address},
		"http-no-engine":     {"--http", "GET", "--engine", "grpc", "http://" + address},
		"http-url":           {"--http", "GET", "localhost/path"},
		"http-method":        {"--http", "FETCH", "http://localhost/"},
		"http2-of-grpc":      call("--http2", address),
		"http2-field":        {"--http", "GET", "--http2", "-H", "Connection: close", "http://" + address},
		"http-length":        {"--http", "POST", "-H", "Content-Length: 3", "http://" + address},
		"http-query":         {"--http", "GET", "http://" + address + "/?q=\u00fc"},
		"http-streams":       {"--http", "GET", "--streams", "5", "http://" + address},
		"http-tls":           {"--http", "GET", "--insecure-skip-verify", "http://" + address},
		"http-engine":        {"--http", "GET", "--engine", "grpc-go", "http://" + address},
		"certificates":       call("--cert", "client.pem", address),
		"self-test-target":   {"--self-test", address},
		"self-test-flag":     {"--self-test", "--json", "result.json"},
		"self-test-engine":   {"--self-test", "--engine", "wires"},
		"nobody-there":       {"--call", sayHello, "127.0.0.1:1"},
		"nobody-there-rest":  {"--http", "GET", "http://127.0.0.1:1/"},
		"tls-to-clear-text":  call("--insecure-skip-verify", address),
		"unknown-authority":  call("--tls", "--cacert", "no-such.pem", address),
		"duration-of-stages": call("--stages", "1s:5", "--duration", "3s", address),
	} {
		t.Run(name, func(t *testing.T) {
			s := rpclab(t, append([]string{"load"}, args...)...)
			if s.stdout != "" {
				t.Errorf("standard output is %q, want nothing", s.stdout)
			}
			text := strings.ReplaceAll(s.stderr, address, "ADDRESS")
			testkit.Golden(t, "wrong/load-"+name+".txt", fmt.Sprintf("%sexit code %d\n", text, s.code))
		})
	}
}

func TestLoadConnectionFlags(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t, "--delay", "50ms")
	d, s := runLoad(t, "--call", sayHello, "--connections", "4", "--connect-rate", "1", "--streams", "1", "--concurrency", "8",
		"--calls", "16", "--keepalive", "30s", "--idle-close", "1m", address)
	a := arm(t, d, address)
	if a.Calls != 16 || len(a.Errors) > 0 || a.Latency.P50 < 95 || a.Lateness.P50 < 45 {
		t.Errorf("%d calls, errors %v %v, latency p50 %v ms, lateness %v ms; want 16 calls of at least 95 ms, half of it a wait for a free stream",
			a.Calls, a.Errors, a.Samples, a.Latency.P50, a.Lateness.P50)
	}
	if warnings := strings.Join(d.Warnings, "\n"); !strings.Contains(warnings, "waited in rpclab for a stream, because --streams limits the calls on a connection to 1") {
		t.Errorf("the warnings are %q, want one of the wait", warnings)
	}
	if s.took < 3*time.Second {
		t.Errorf("4 connections at 1/s took %v, want at least 3 s", s.took)
	}
	for key, want := range map[string]any{"streams": 1.0, "connect_rate": 1.0, "keepalive": "30s", "idle_close": "1m0s"} {
		if a.Config[key] != want {
			t.Errorf("the result has %s %v, want %v", key, a.Config[key], want)
		}
	}
}

// TestLoadRejectsMoreConnectionsThanOpenFiles runs with a hard limit of 500 open files.
func TestLoadRejectsMoreConnectionsThanOpenFiles(t *testing.T) {
	t.Parallel()
	c := exec.Command("sh", "-c", `ulimit -n 500; exec "$0" "$@"`, testkit.Rpclab(t), "load", "--call", sayHello, "--connections", "600", "127.0.0.1:1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	_ = c.Run()
	testkit.Golden(t, "wrong/load-too-many-connections.txt", fmt.Sprintf("%sexit code %d\n", &stderr, c.ProcessState.ExitCode()))
}

// Of the three addresses one refuses connections.
func TestLoadBalancesCallsAmongTheAddressesOfATarget(t *testing.T) {
	t.Parallel()
	one, _ := greeterAt(t, "--id", "a")
	two, _ := greeterAt(t, "--id", "b")
	target := "dns:///" + one + "," + two + ",127.0.0.1:1"
	for engine, likely := range map[string]uint64{"wire": 200, "grpc-go": 150} {
		d, _ := runLoad(t, "--call", sayHello, "--engine", engine, "--balance", "round_robin", "--concurrency", "4", "--calls", "400", "--assert", "errors == 0", target)
		if a := arm(t, d, target); a.Backends["a"]+a.Backends["b"] != 400 || min(a.Backends["a"], a.Backends["b"]) < likely {
			t.Errorf("%s: the backends are %v, want at least %d calls by each of a and b", engine, a.Backends, likely)
		}
		d, _ = runLoad(t, "--call", sayHello, "--engine", engine, "--concurrency", "4", "--calls", "400", "--assert", "errors == 0", target)
		if a := arm(t, d, target); a.Backends["a"] != 400 {
			t.Errorf("%s: the backends are %v, want all calls by a, the first", engine, a.Backends)
		}
	}
}
