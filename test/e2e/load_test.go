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
	"unicode/utf8"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

const sayHello = "rpclab.v1.Greeter/SayHello"

// greeterAt starts a server for the length of a test and returns its address.
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
		t.Fatalf("the server said %q", said[:n])
	}
	return address, server
}

// loaded runs a load that has to succeed and reads its result.
func loaded(t *testing.T, args ...string) (result.Document, said) {
	t.Helper()
	s := rpclab(t, append([]string{"load", "--json", "-"}, args...)...)
	if s.code != 0 {
		t.Fatalf("rpclab load %s: exit code %d\n%s", strings.Join(args, " "), s.code, s.stderr)
	}
	return read(t, strings.NewReader(s.stdout)), s
}

func TestALoadSaysWhatItMeasuredWithin80Columns(t *testing.T) {
	address, _ := greeterAt(t)
	s := rpclab(t, "load", "--call", sayHello, "-d", `{"name": "you"}`, "--concurrency", "4", "--calls", "500",
		"--assert", "errors == 0 && calls == 500", "--assert", "max < 1m", address)
	if s.code != 0 || s.stderr != "" {
		t.Errorf("exit code %d, %s", s.code, s.stderr)
	}
	for _, part := range []string{sayHello + " at " + address, "closed loop of 4 users, 500 calls at most",
		"500 calls in ", "█", "p99.9", "latency", "lateness", "- one: 500 calls (100 %)", "its ceiling here", "bare TCP"} {
		if !strings.Contains(s.stdout, part) {
			t.Errorf("it does not say %q:\n%s", part, s.stdout)
		}
	}
	for line := range strings.Lines(s.stdout) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestTheResultOfALoadIsADocument(t *testing.T) {
	address, _ := greeterAt(t)
	d, _ := loaded(t, "--call", sayHello, "-d", `[{"name": "a"}, {"name": "{{uuid}}"}]`, "--stages", "0s:200,500ms:200,500ms:0",
		"--arrivals", "poisson", "--seed", "7", "--timeout", "5s", address)
	a := arm(t, d, address)
	if d.Seed != 7 || a.Calls < 100 || a.Calls > 200 || len(a.Errors) > 0 || a.Config["generator"] == nil || a.Lateness.Empty() {
		t.Errorf("seed %d, %d calls, errors %v, config %v", d.Seed, a.Calls, a.Errors, a.Config)
	}
}

func TestFilesOfMethodsAndData(t *testing.T) {
	address, _ := greeterAt(t)
	file := filepath.Join(t.TempDir(), "names.ndjson")
	if err := os.WriteFile(file, []byte("{\"name\": \"a\"}\n{\"name\": \"b\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := loaded(t, "--proto", "../../api/rpclab/v1/greeter.proto", "--import-path", "../../api",
		"--call", sayHello, "-d", "@"+file, "--calls", "100", "-H", "token: x", address)
	if a := d.Arms[0]; a.Calls != 100 || len(a.Errors) > 0 || a.Config["messages"] != 2.0 {
		t.Errorf("%d calls, errors %v, %v messages", a.Calls, a.Errors, a.Config["messages"])
	}
}

func TestAnAssertionThatFailsSaysByHowMuch(t *testing.T) {
	address, _ := greeterAt(t, "--delay", "20ms")
	s := rpclab(t, "load", "--call", sayHello, "--concurrency", "2", "--calls", "20", "--json", "-",
		"--assert", "p50 < 10ms", "--assert", "errors == 0", "--assert", "calls > 1000", address)
	if s.code != 1 || !strings.Contains(s.stderr, "--assert p50 < 10ms: it is 2") || !strings.Contains(s.stderr, "times as much") ||
		!strings.Contains(s.stderr, "--assert calls > 1000: it is 20, 98 % less") || strings.Contains(s.stderr, "errors") {
		t.Errorf("exit code %d\n%s", s.code, s.stderr)
	}
	read(t, strings.NewReader(s.stdout)) // the result is there all the same
}

func TestErrorsAreCountedByCodeWithSamples(t *testing.T) {
	address, _ := greeterAt(t, "--delay", "1s")
	s := rpclab(t, "load", "--call", sayHello, "--concurrency", "3", "--calls", "3", "--timeout", "50ms", address)
	if s.code != 0 || !strings.Contains(s.stdout, "DEADLINE_EXCEEDED: 3 (100 %), first: ") {
		t.Errorf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
}

func TestAnInterruptedLoadGivesTheResultSoFar(t *testing.T) {
	address, _ := greeterAt(t)
	c := command(t, t.TempDir(), "load", "--call", sayHello, "--rate", "100", "--duration", "1h", "--json", "-", address)
	var stdout bytes.Buffer
	c.Stdout = &stdout
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n') // where it stands after 5 s
	if err != nil || !regexp.MustCompile(`^ +5 s +\d+/s  p50 .* ms  p99 .* ms  late .* ms  0 failed, \d+ open\n$`).MatchString(line) {
		t.Errorf("it says %q, %v", line, err)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stderr)
	_ = c.Wait()
	d := read(t, &stdout)
	if code := c.ProcessState.ExitCode(); code != 130 || !d.Partial || d.Arms[0].Calls < 400 {
		t.Errorf("exit code %d, partial: %v, %d calls", code, d.Partial, d.Arms[0].Calls)
	}
}

func TestTheSelfTestNeedsNoTarget(t *testing.T) {
	s := rpclab(t, "load", "--self-test")
	if s.code != 0 || !strings.Contains(s.stdout, "its ceiling here: ") || !strings.Contains(s.stdout, "its floor: p50 ") {
		t.Errorf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
}

// TestWrongLoads: each says what is wrong, where, and what to do.
func TestWrongLoads(t *testing.T) {
	address, _ := greeterAt(t)
	call := func(args ...string) []string { return append([]string{"--call", sayHello}, args...) }
	for name, args := range map[string][]string{
		"no-target":          call(),
		"no-call":            {address},
		"engine":             call("--engine", "grpc", address),
		"no-port":            call("localhost"),
		"unknown-service":    {"--call", "rpclab.v1.Greter/SayHello", address},
		"unknown-method":     {"--call", "rpclab.v1.Greeter/SayHallo", address},
		"no-method":          {"--call", "SayHello", address},
		"streaming-method":   {"--call", "grpc.health.v1.Health/Watch", address},
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
		"http-url":           {"--http", "GET", "localhost/path"},
		"http-method":        {"--http", "FETCH", "http://localhost/"},
		"certificates":       call("--cert", "client.pem", address),
		"self-test-target":   {"--self-test", address},
		"nobody-there":       {"--call", sayHello, "127.0.0.1:1"},
		"nobody-there-rest":  {"--http", "GET", "http://127.0.0.1:1/"},
		"tls-to-clear-text":  call("--insecure-skip-verify", address),
		"unknown-authority":  call("--tls", "--cacert", "no-such.pem", address),
		"duration-of-stages": call("--stages", "1s:5", "--duration", "3s", address),
	} {
		t.Run(name, func(t *testing.T) {
			s := rpclab(t, append([]string{"load"}, args...)...)
			if s.stdout != "" {
				t.Errorf("standard output has %q", s.stdout)
			}
			text := strings.ReplaceAll(s.stderr, address, "ADDRESS")
			testkit.Golden(t, "wrong/load-"+name+".txt", fmt.Sprintf("%sexit code %d\n", text, s.code))
		})
	}
}

func TestHelpOfLoad(t *testing.T) {
	s := rpclab(t, "load", "--help")
	testkit.Golden(t, "help/load--help.txt", s.stdout)
	for line := range strings.Lines(s.stdout) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
