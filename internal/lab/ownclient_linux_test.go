package lab_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/measure"
	"rpclab/internal/testkit"
)

// A client may have processes of its own, such as a pool. A caller that was killed would leave them behind.
func TestProcessesOfAClientEndWithItsTrial(t *testing.T) {
	t.Parallel()
	started := filepath.Join(t.TempDir(), "started")
	script := `read job; sleep 600 >/dev/null 2>&1 & echo $! >>` + started + `; echo "{\"ready\": true}"
while read n; do t=$(date +%s%N); echo "{\"call\": $n, \"sent\": $t, \"done\": $t}"; done`
	for _, design := range []string{"isolated", "interleaved"} {
		doc := `
experiment: helpers
question: Do they end?
design: ` + design + `
defaults:
  workload: {greet: {}}
  server: {replicas: 1}
  route: direct
  caller: {warmup: 1}
  load: {open: {rate: 50, duration: 200ms}}
arms:
  a: {caller: {command: [sh, -c, ` + strconv.Quote(script) + `]}}
  b: {caller: {command: [sh, -c, ` + strconv.Quote(script) + `]}}
rounds: 1
`
		d, err := lab.Run(t.Context(), plan(t, doc, experiment.Options{Seed: 1}), options(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range d.Arms {
			if a.Calls == 0 || a.Failed() > 0 {
				t.Errorf("%s: arm %s made %d calls, errors %v", design, a.Name, a.Calls, a.Samples)
			}
		}
	}
	text, err := os.ReadFile(started)
	pids := strings.Fields(string(text))
	if err != nil || len(pids) != 4 {
		t.Fatalf("the clients started %q (%v), want a process for each trial", pids, err)
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		testkit.AwaitFor(t, 10*time.Second, "process "+text+" of a client ends", func() bool { return measure.TreeRSS(pid) == 0 })
	}
}
