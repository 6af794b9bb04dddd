package dashboards

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"rpclab/internal/testkit"
)

// group are targets of Prometheus that belong together, as its file_sd_configs read them.
type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// lab is a running `rpclab lab up balancing`.
type lab struct {
	dir      string            // of the file that says where everything is
	gateways map[string]string // host:port by mode
}

const targets = "balancing.json"

func (l lab) modes() []string { return slices.Sorted(maps.Keys(l.gateways)) }

// The study's load, smaller: so many requests, so many at a time, each of so many calls.
const (
	requests   = 50
	atOnce     = 20
	iterations = 10
	many       = requests * iterations // calls
	few        = 7                     // calls of one request
)

// first makes a few calls at every gateway.
func (l lab) first(t *testing.T) {
	t.Helper()
	for _, at := range l.gateways {
		sh(t, "curl --fail --silent --show-error 'http://%s/fibonacci/random?iterations=%d'", at, few)
	}
}

// study runs the study's own command against every gateway.
func (l lab) study(t *testing.T) {
	t.Helper()
	for _, at := range l.gateways {
		sh(t, `seq 1 %d | xargs -I{} -P%d curl --fail --silent --show-error 'http://%s/fibonacci/random?iterations=%d&fibo_start=800&fibo_end=10000'`,
			requests, atOnce, at, iterations)
	}
}

// reset sets the counters of every gateway to 0.
func (l lab) reset(t *testing.T) {
	t.Helper()
	for _, at := range l.gateways {
		sh(t, "curl --fail --silent --show-error -X POST http://%s/-/reset", at)
	}
}

// unreachable adds a gateway whose servers are not there.
func (l lab) unreachable(t *testing.T) (at string) {
	t.Helper()
	at = free(t)
	start(t, "http://"+at+"/-/ready", testkit.Rpclab(t), "gateway", "--supervised",
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
	// At once, or Prometheus might read half a file.
	next := filepath.Join(l.dir, targets+".next")
	if err := errors.Join(os.WriteFile(next, text, 0o600), os.Rename(next, filepath.Join(l.dir, targets))); err != nil {
		t.Fatal(err)
	}
}

// sh runs a command line as a reader of the study would.
func sh(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", line, err, out)
	}
}
