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
	"regexp"
	"runtime/debug"
	"strconv"
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

// sparedFiles are what a process with a crowd of connections has open beside them.
const sparedFiles = 200

// crowd is how many connections a process may have, up to so many.
func crowd(t *testing.T, most int) int {
	t.Helper()
	limit, err := process.RaiseFileLimit()
	if err != nil {
		t.Fatal(err)
	}
	return int(min(uint64(most), limit-sparedFiles))
}

// tallier starts a server in a process of its own that says, once its last connection
// has ended, how many there were and how many calls came on each.
func tallier(t *testing.T) (addr string, tally func() string) {
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

// As many connections as open files allow, from several addresses, stand soon, share
// the calls evenly, and cost little memory.
func TestManyConnectionsShareTheCallsEvenly(t *testing.T) {
	const (
		each   = 3       // calls on a connection
		within = 180     // seconds, on a busy machine; it takes three on an idle one
		bytes  = 8 << 10 // of resident memory a connection; about 4 KiB are needed
	)
	n := crowd(t, many(50_000, 5000))
	addr, tally := tallier(t)
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
	stand := time.Since(began)
	recorder, _, stats, err := e.Run(t.Context(), pace.Burst{Calls: each * n}, measure.StartSignal{})
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
	if err != nil || m.Backends[""] != uint64(each*n) || stats.Connections != n {
		t.Errorf("%d of %d calls were answered right over %d connections, errors %v %v, %v", m.Backends[""], each*n, stats.Connections, m.Errors, m.Samples, err)
	}
	if got, want := tally(), fmt.Sprintf("%d connections, %d to %d calls each", n, each, each); got != want {
		t.Errorf("the server had %s; wanted %s", got, want)
	}
	took := time.Since(began)
	t.Logf("%d connections stood after %v, and all was over after %v; %d bytes a connection", n, stand, took, int(after-before)/n)
	if took > within*time.Second || after-before > uint64(bytes*n) {
		t.Errorf("it took %v and %d bytes a connection", took, int(after-before)/n)
	}
}

// sockets are the TCP connections of this machine, both ends where both are here.
func sockets(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(regexp.MustCompile(`TCP: inuse (\d+)`).FindSubmatch(text)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// One process may not have so many open files, so several share them, on both sides.
func TestFiftyThousandConnectionsAtOnce(t *testing.T) {
	undisturbed(t, func(_ int, wrong func(format string, args ...any)) { fiftyThousand(t, wrong) })
}

func fiftyThousand(t *testing.T, wrong func(format string, args ...any)) {
	all, each, think := many(50_000, 3000), crowd(t, many(17_000, 1500)), "2s"
	if *soak {
		think = "10s"
	}
	before := sockets(t)
	type generator struct {
		command        *exec.Cmd
		stdout, stderr bytes.Buffer
	}
	var generators []*generator
	for i := 0; i*each < all; i++ {
		address, _ := greeterAt(t)
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
	testkit.AwaitFor(t, time.Minute, "all connections stand at once", func() bool {
		most = max(most, (sockets(t)-before)/2)
		return most >= all
	})
	t.Logf("%d connections stood at once after %v", most, time.Since(began))
	for i, g := range generators {
		if err := g.command.Wait(); err != nil {
			t.Fatalf("generator %d: %v\n%s", i, err, &g.stderr)
		}
		a := resulttest.Read(t, &g.stdout).Arms[0]
		if a.Calls != uint64(2*each) || len(a.Errors) > 0 || a.Backends["one"] != a.Calls {
			wrong("generator %d: %d of %d calls, errors %v %v", i, a.Calls, 2*each, a.Errors, a.Samples)
		}
		if peak := a.Resources.Client.RSS; peak > 80<<20+8<<10*uint64(each) {
			wrong("generator %d took %d MiB", i, peak>>20)
		}
	}
	testkit.Await(t, "they are closed", func() bool { return sockets(t)-before < all/100 })
}
