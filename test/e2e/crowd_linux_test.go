package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
	"rpclab/internal/wire"
)

// otherFiles is the number of open files besides connections.
const otherFiles = 200

// maxConnections returns how many connections this process may open, at most most.
func maxConnections(t *testing.T, most int) int {
	t.Helper()
	limit, err := process.RaiseFileLimit()
	if err != nil {
		t.Fatal(err)
	}
	return int(min(uint64(most), limit-otherFiles))
}

// startCountingServer starts a server process. When the last connection has closed, tally returns
// the number of connections and of calls on each.
func startCountingServer(t *testing.T) (addr string, tally func() string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "answerer")
	if out, err := exec.Command("go", "build", "-o", program, "rpclab/bench/answerer").CombinedOutput(); err != nil {
		t.Fatalf("build the answerer: %v\n%s", err, out)
	}
	out, in := io.Pipe()
	p, err := process.Start(process.Spec{Args: []string{program, "-count"}, Stdout: in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); in.Close() })
	lines := bufio.NewScanner(out)
	line := func() string {
		lines.Scan()
		return lines.Text()
	}
	return line(), line
}

// TestManyConnectionsShareTheCallsEvenly opens as many connections as open files allow, from several
// addresses.
func TestManyConnectionsShareTheCallsEvenly(t *testing.T) {
	const (
		each   = 3       // calls on a connection
		within = 180     // seconds on a busy machine; an idle one needs three
		bytes  = 8 << 10 // of resident memory a connection; about 4 KiB are needed
	)
	n := maxConnections(t, many(50_000, 5000))
	addr, tally := startCountingServer(t)
	began := time.Now()
	debug.FreeOSMemory()
	if err := measure.ResetMaxRSS(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	before, err := measure.MaxRSS(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	e, err := wire.New(wire.Config{
		Addresses: []string{addr}, Channels: n,
		Sources: []netip.Addr{netip.MustParseAddr("127.1.0.1"), netip.MustParseAddr("127.1.0.2"), netip.MustParseAddr("127.1.0.3")},
	}, wire.Call{
		Method: rpclabv1.Greeter_SayHello_FullMethodName,
		Check: func(_ uint64, answer []byte, _ string) error {
			if !strings.Contains(string(answer), "Hello, rpclab") {
				return fmt.Errorf("answered %q", answer)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	connected := time.Since(began)
	recorder, _, err := e.Run(t.Context(), pace.Burst{Calls: each * n}, measure.StartSignal{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := measure.MaxRSS(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := recorder.Measurement()
	if err != nil || m.Backends[""] != uint64(each*n) {
		t.Errorf("%d of %d calls had a correct answer, errors %v %v, %v", m.Backends[""], each*n, m.Errors, m.Samples, err)
	}
	if got, want := tally(), fmt.Sprintf("%d connections, %d to %d calls each", n, each, each); got != want {
		t.Errorf("the server counted %s, want %s", got, want)
	}
	took := time.Since(began)
	t.Logf("%d connections were open after %v, the test ended after %v; %d bytes per connection", n, connected, took, int(after-before)/n)
	if took > within*time.Second || after-before > uint64(bytes*n) {
		t.Errorf("took %v and %d bytes per connection, want at most %d s and %d bytes", took, int(after-before)/n, within, bytes)
	}
}

// openFiles returns the number of open files of programs, each accepted connection among them.
func openFiles(t *testing.T, programs []*exec.Cmd) (n int) {
	t.Helper()
	for _, program := range programs {
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", program.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		n += len(files)
	}
	return n
}

// TestFiftyThousandConnectionsAtOnce uses several processes on both sides, because of the limit of
// open files.
func TestFiftyThousandConnectionsAtOnce(t *testing.T) {
	undisturbed(t, func(_ int, wrong func(format string, args ...any)) { fiftyThousand(t, wrong) })
}

func fiftyThousand(t *testing.T, wrong func(format string, args ...any)) {
	all, each, think := many(50_000, 3000), maxConnections(t, many(17_000, 1500)), "5s"
	if *soak {
		think = "1m"
	}
	var addresses []string
	var servers []*exec.Cmd
	for i := 0; i*each < all; i++ {
		address, server := greeterAt(t)
		addresses, servers = append(addresses, address), append(servers, server)
	}
	one := rpclab(t, "load", "--call", sayHello, "-d", `{"name": "{{.Number}}"}`, "--calls", "1", "--json", "-", addresses[0])
	alone := resulttest.Read(t, strings.NewReader(one.stdout)).Arms[0].Resources.Client.RSS // mostly pages of the program file
	before := openFiles(t, servers)
	type generator struct {
		command        *exec.Cmd
		stdout, stderr bytes.Buffer
	}
	var generators []*generator
	for i, address := range addresses {
		g := &generator{command: command(t, t.TempDir(), "load", "--call", sayHello, "-d", `{"name": "{{.Number}}"}`, "--json", "-",
			"--connections", fmt.Sprint(each), "--concurrency", fmt.Sprint(each), "--think", think, "--calls", fmt.Sprint(2*each), "--timeout", "2m",
			"--source", fmt.Sprintf("127.1.%d.0/28", i), address)}
		g.command.Stdout, g.command.Stderr = &g.stdout, &g.stderr
		if err := g.command.Start(); err != nil {
			t.Fatal(err)
		}
		generators = append(generators, g)
	}
	most := 0
	began := time.Now()
	testkit.AwaitFor(t, 5*time.Minute, "all connections are open at once", func() bool {
		most = max(most, openFiles(t, servers)-before)
		return most >= all
	})
	t.Logf("%d connections were open at once after %v", most, time.Since(began))
	for i, g := range generators {
		if err := g.command.Wait(); err != nil {
			t.Fatalf("generator %d: %v\n%s", i, err, &g.stderr)
		}
		a := resulttest.Read(t, &g.stdout).Arms[0]
		if a.Calls != uint64(2*each) || len(a.Errors) > 0 || a.Backends["one"] != a.Calls {
			wrong("generator %d made %d of %d calls, errors %v %v", i, a.Calls, 2*each, a.Errors, a.Samples)
		}
		if peak := a.Resources.Client.RSS; peak > alone+alone/5+8<<10*uint64(each) {
			wrong("generator %d used %d MiB, want at most 6/5 of the %d MiB that it uses with one connection, and 8 KiB per connection", i, peak>>20, alone>>20)
		}
	}
	testkit.Await(t, "the connections are closed", func() bool { return openFiles(t, servers)-before < all/100 })
}
