package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

const threeInTurns = `experiment: in-turns
question: Which one?
defaults:
  workload: {greet: {delay: 2ms}}
  server: {replicas: 1}
  route: clusterip
  caller: {warmup: 10}
  load: {closed: {users: 2, duration: 100ms}}
arms:
  shared: {}
  endpointslice: {route: endpointslice}
  pool: {caller: {channel: {pool: 2}}}
rounds: 1
design: interleaved
`

// TestArmsThatDoNotFitTogetherRunInGroups limits the open files, as a container may. Three arms need 154 at the same
// time, and two need 124.
func TestArmsThatDoNotFitTogetherRunInGroups(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := filepath.Join(data, "in-turns.yaml")
	if err := os.WriteFile(file, []byte(threeInTurns), 0o644); err != nil {
		t.Fatal(err)
	}
	limited := func(files string, args ...string) said {
		c := command(t, data)
		c.Args = append([]string{"sh", "-c", "ulimit -n " + files + `; exec "$0" "$@"`, testkit.Rpclab(t)}, args...)
		sh, err := exec.LookPath("sh")
		if err != nil {
			t.Fatal(err)
		}
		c.Path = sh
		s, err := ran(c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const line = "All arms need 154 open files (limit 140): 2 groups with shared: endpointslice; pool."
	out := filepath.Join(data, "out.json")
	for _, args := range [][]string{{"--plan"}, {"--rounds", "1", "--json", out}} {
		s := limited("140", append([]string{"run", file}, args...)...)
		if s.code != 0 || !strings.Contains(strings.Join(strings.Fields(s.stdout), " "), line) {
			t.Errorf("%v: exit code %d, the output lacks %q:\n%s%s", args, s.code, line, s.stdout, s.stderr)
		}
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var d result.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.Groups == nil || len(d.Groups.Arms) != 2 || d.TrialCount != 4 {
		t.Errorf("the groups are %+v, with %d trials; want 2 with 4", d.Groups, d.TrialCount)
	}
	if s := limited("110", "run", file, "--rounds", "1"); s.code != 3 || !strings.Contains(s.stderr, "the hard limit here is 110") {
		t.Errorf("two arms do not fit: exit code %d\n%s", s.code, s.stderr)
	}
}
