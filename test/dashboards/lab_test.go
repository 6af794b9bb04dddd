package dashboards

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"rpclab/internal/testkit"
)

// group is an entry of a Prometheus file_sd_configs file.
type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// lab is a running `rpclab lab up balancing`.
type lab struct {
	dir      string            // of the file that says where everything is
	port     int               // of the first gateway
	gateways map[string]string // host:port by mode
}

const targets = "balancing.json"

// up starts `rpclab lab up balancing`: a gateway and three servers for every route.
func up(t *testing.T) lab {
	t.Helper()
	l := lab{dir: t.TempDir(), port: ports(t, 20), gateways: map[string]string{}}
	path := filepath.Join(l.dir, targets)
	start(t, func() bool { _, err := os.Stat(path); return err == nil },
		testkit.Rpclab(t), "lab", "up", "balancing", "--port", strconv.Itoa(l.port), "--targets", path)
	for _, g := range l.read(t) {
		if g.Labels["job"] == "gateway" {
			l.gateways[g.Labels["mode"]] = g.Targets[0]
		}
	}
	return l
}

// ports returns the first of n consecutive unused ports.
func ports(t *testing.T, n int) (first int) {
	t.Helper()
	testkit.Await(t, fmt.Sprintf("%d free ports", n), func() bool {
		_, port, _ := net.SplitHostPort(free(t))
		first, _ = strconv.Atoi(port)
		for i := range n {
			listener, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first+i))
			if err != nil {
				return false
			}
			listener.Close()
		}
		return true
	})
	return first
}

func (l lab) modes() []string { return slices.Sorted(maps.Keys(l.gateways)) }

// The load of the study, scaled down: requests, requests at a time, and calls per request.
const (
	requests   = 50
	atOnce     = 20
	iterations = 10
	many       = requests * iterations // calls
	few        = 7                     // calls of one request
)

// first makes a few calls through every gateway.
func (l lab) first(t *testing.T) {
	t.Helper()
	for _, at := range l.gateways {
		sh(t, "curl --fail --silent --show-error 'http://%s/fibonacci/random?iterations=%d'", at, few)
	}
}

// study runs the command of the balancing study against every gateway.
func (l lab) study(t *testing.T) {
	t.Helper()
	for _, at := range l.gateways {
		sh(t, `seq 1 %d | xargs -I{} -P%d curl --fail --silent --show-error 'http://%s/fibonacci/random?iterations=%d&fibo_start=800&fibo_end=10000'`,
			requests, atOnce, at, iterations)
	}
}

// reset sets the counters of every gateway to 0 with the documented command.
func (l lab) reset(t *testing.T) {
	t.Helper()
	sh(t, "%s lab reset --port %d", testkit.Rpclab(t), l.port)
}

// unreachable adds a gateway whose servers do not run.
func (l lab) unreachable(t *testing.T) (at string) {
	t.Helper()
	at = free(t)
	start(t, answers("http://"+at+"/-/ready"), testkit.Rpclab(t), "gateway", "--supervised",
		"--listen", at, "--target", free(t), "--mode", "unreachable")
	l.write(t, append(l.read(t), group{[]string{at}, map[string]string{"job": "gateway", "mode": "unreachable"}}))
	return at
}

func (l lab) read(t *testing.T) (groups []group) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, targets))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatalf("%s: %v", targets, err)
	}
	return groups
}

func (l lab) write(t *testing.T, groups []group) {
	t.Helper()
	text, err := json.Marshal(groups)
	if err != nil {
		t.Fatal(err)
	}
	// Rename the file, so that Prometheus never reads a part of it.
	next := filepath.Join(l.dir, targets+".next")
	if err := errors.Join(os.WriteFile(next, text, 0o600), os.Rename(next, filepath.Join(l.dir, targets))); err != nil {
		t.Fatal(err)
	}
}

// sh runs a shell command that must succeed.
func sh(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", line, err, out)
	}
}
