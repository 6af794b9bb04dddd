package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"rpclab/internal/testkit"
)

var labs atomic.Int32

// unusedPorts returns the first of some ports in a row that no other test has. They are below those that the kernel gives
// to connections, of which one could be opened between this check and the use of a port.
func unusedPorts(t *testing.T, some int) (first int) {
	t.Helper()
	first = 10000 + os.Getpid()%200*100 + int(10*labs.Add(1))
	for port := first; port < first+some; port++ {
		if !free(port) {
			first = port + 1
		}
	}
	return first
}

// up starts `rpclab lab up balancing` with routes (ClusterIP and headless first) on free ports, and
// returns when it has printed its table.
func up(t *testing.T, routes string, args ...string) (lab *exec.Cmd, port int) {
	t.Helper()
	port = unusedPorts(t, 3)
	lab = command(t, t.TempDir(), append([]string{"lab", "up", "balancing", "--routes", routes, "--port", strconv.Itoa(port)}, args...)...)
	lab.Stderr = os.Stderr
	out, err := lab.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = lab.Process.Kill()
		_ = lab.Wait()
	})
	table := bufio.NewScanner(out)
	for range 3 {
		if !table.Scan() {
			t.Fatal("rpclab lab up ended before it printed its table")
		}
	}
	if !strings.Contains(table.Text(), fmt.Sprintf("curl 'http://127.0.0.1:%d/fibonacci/random?iterations=100'", port+1)) {
		t.Errorf("the table does not show the curl command for headless: %s", table.Text())
	}
	return lab, port
}

func free(port int) bool {
	listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	return err == nil && listener.Close() == nil
}

// sh runs a shell command that must succeed.
func sh(t *testing.T, format string, args ...any) string {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", line, err, out)
	}
	return string(out)
}

// awaitPortsClosed waits until nothing listens on the ports of gateways and servers.
func awaitPortsClosed(t *testing.T, port int, servers []string) {
	t.Helper()
	testkit.Await(t, "the ports are free again", func() bool {
		for _, at := range append(servers, "127.0.0.1:"+strconv.Itoa(port), "127.0.0.1:"+strconv.Itoa(port+1)) {
			if connection, err := net.Dial("tcp", at); err == nil {
				connection.Close()
				return false
			}
		}
		return true
	})
}

// targets reads the addresses of servers from a file for Prometheus.
func targets(t *testing.T, path string) (servers []string) {
	t.Helper()
	testkit.Await(t, "the targets are written", func() bool { _, err := os.Stat(path); return err == nil })
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Targets []string
		Labels  map[string]string
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if g.Labels["job"] == "server" {
			servers = append(servers, g.Targets...)
		}
	}
	if len(groups) < 4 || len(servers) != 3*len(groups)/2 { // a gateway and 3 servers for every route
		t.Fatalf("the targets are %s", text)
	}
	return servers
}

var counted = regexp.MustCompile(`(?m)^grpc_requests_total{method="Fibonacci/Compute",mode="(\w+)",server_name="[\w-]+"} (\d+)$`)

var handled = regexp.MustCompile(`(?m)^grpc_server_handled_total{grpc_code="OK",grpc_method="Compute",.*} (\d+)$`)

// answered returns the number of calls that the servers counted.
func answered(t *testing.T, servers []string) (total int) {
	t.Helper()
	for _, at := range servers {
		for _, line := range handled.FindAllStringSubmatch(sh(t, "curl -fsS http://%s/metrics", at), -1) {
			n, _ := strconv.Atoi(line[1])
			total += n
		}
	}
	return total
}

func sum(each []int) (total int) {
	for _, n := range each {
		total += n
	}
	return total
}

// calls returns the calls that a gateway counted, by server.
func calls(t *testing.T, port int, mode string) (each []int) {
	t.Helper()
	for _, line := range counted.FindAllStringSubmatch(sh(t, "curl -fsS http://127.0.0.1:%d/metrics", port), -1) {
		if n, err := strconv.Atoi(line[2]); err == nil && line[1] == mode {
			each = append(each, n)
		}
	}
	return each
}

// limited returns how many descendants of a process have a CPU limit: a control group of their own or, where there are
// none, a limit of Go's runtime.
func limited(t *testing.T, pid int) (n int) {
	t.Helper()
	read := func(pid int, file string) string {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file)) // the process may have ended
		return string(text)
	}
	for _, child := range descendants(pid) {
		if group := read(child, "cgroup"); group != "" && group != read(pid, "cgroup") || strings.Contains(read(child, "environ"), "GOMAXPROCS=2\x00") {
			n++
		}
	}
	return n
}

func TestLabUpServesTheStudysCommand(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "balancing.json")
	lab, port := up(t, "clusterip,headless", "--targets", file, "--cpus", "2")
	servers := targets(t, file)
	if n := limited(t, lab.Process.Pid); n != len(servers) {
		t.Errorf("%d processes have a limit of 2 CPUs, want the %d servers", n, len(servers))
	}
	for offset, mode := range []string{"clusterip", "headless"} {
		sh(t, `seq 1 50 | xargs -I{} -P20 curl -fsS 'http://127.0.0.1:%d/fibonacci/random?iterations=20&fibo_start=800&fibo_end=10000'`, port+offset)
		each := calls(t, port+offset, mode)
		if sum(each) != 50*20 || mode == "clusterip" && len(each) != 1 || mode == "headless" && len(each) != 3 {
			t.Errorf("%s: the gateway counted %v, want 1000 calls on 1 server (clusterip) or 3", mode, each)
		}
	}
	if n := answered(t, servers); n != 2*50*20 {
		t.Errorf("the servers counted %d calls, want 2000", n)
	}
	if s := rpclab(t, "lab", "reset", "--port", strconv.Itoa(port)); s.code != 0 || sum(calls(t, port, "clusterip")) != 0 {
		t.Errorf("lab reset: exit code %d, the gateway still counts %v: %s", s.code, calls(t, port, "clusterip"), s.stderr)
	}
	if s := rpclab(t, "lab", "up", "balancing", "--routes", "headless", "--port", strconv.Itoa(port)); s.code != 3 || !strings.Contains(s.stderr, fmt.Sprintf("cannot listen on 127.0.0.1:%d", port+1)) {
		t.Errorf("a second lab on the same port: exit code %d: %s", s.code, s.stderr)
	}
	if err := lab.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := lab.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	awaitPortsClosed(t, port, servers)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of targets still exists: %v", err)
	}
}

func TestAKilledLabLeavesNoProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "balancing.json")
	lab, port := up(t, "clusterip,headless,envoy", "--targets", file)
	servers := targets(t, file)
	processes := descendants(lab.Process.Pid) // the proxy and its control plane among them
	if err := lab.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = lab.Wait()
	awaitPortsClosed(t, port, servers)
	testkit.Await(t, "every process has ended", func() bool { return !slices.ContainsFunc(processes, alive) })
}

func TestLabResetReportsAnUnreachableGateway(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connection.Close()
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	if s := rpclab(t, "lab", "reset", "--port", strconv.Itoa(port)); s.code != 3 || !strings.Contains(s.stderr, "route clusterip: ") {
		t.Errorf("exit code %d: %s", s.code, s.stderr)
	}
}
