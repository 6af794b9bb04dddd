package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clients are arms whose clients do what they must not do.
const clients = `experiment: clients
question: What does rpclab say about clients that fail?
defaults:
  workload: {greet: {}}
  server: {replicas: 1}
  route: direct
  caller: {warmup: 0, ready_timeout: 15s}
  load: {open: {rate: 50, duration: 1s}}
arms:
  ours: {caller: {kind: grpc-go}}
  dies: {caller: {command: [sh, -c, 'read job; echo "{\"ready\": true}"; for i in 1 2 3 4 5; do read n; t=$(date +%s%N); echo "{\"call\": $n, \"sent\": $t, \"done\": $t}"; done; read n; exit 3']}}
  nonsense: {caller: {command: [sh, -c, 'read job; echo "{\"ready\": true}"; read n; echo started >&2; echo hello; read stay']}}
  silent: {caller: {command: [sh, -c, 'echo loading >&2; while read n; do :; done']}}
rounds: 1
`

func TestClientsOfTheUserThatFail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clients.yaml")
	if err := os.WriteFile(path, []byte(clients), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := document(t, path)
	if ours := arm(t, d, "ours"); ours.Calls != 50 || ours.Failed() > 0 {
		t.Errorf("ours: %d calls, errors %v; want 50 without errors", ours.Calls, ours.Samples)
	}
	if dies := arm(t, d, "dies"); dies.Calls != 50 || dies.Errors["CLIENT_EXITED"] != 45 {
		t.Errorf("dies: %d calls, errors %v; want 45 of 50 CLIENT_EXITED", dies.Calls, dies.Errors)
	}
	for name, want := range map[string]string{
		"nonsense": "the client sh: it wrote \"hello\" to standard output, where rpclab reads an outcome",
		"silent":   "the client sh: it was not ready within 15s",
	} {
		trial := arm(t, d, name).Trials[0]
		if !strings.Contains(trial.Failed, want) || !strings.Contains(trial.Failed, "its last lines:\n") {
			t.Errorf("%s failed with %q, want %q and the last lines", name, trial.Failed, want)
		}
	}
	for arms, code := range map[string]int{"ours,dies": 0, "ours": 2} {
		got := rpclab(t, "run", path, "--plan", "--arms", arms, "--set", "baseline=ours", "--assert", "errors.TOO_FEW == 0")
		if got.code != code || code == 2 && !strings.Contains(got.stderr, `no error code "TOO_FEW"`) {
			t.Errorf("an assertion on a code of a client's own for %s: exit code %d, want %d\n%s", arms, got.code, code, got.stderr)
		}
	}
	// A script must not take a run that measured nothing for a good one.
	nothing := rpclab(t, "run", path, "--arms", "nonsense", "--set", "baseline=nonsense")
	if nothing.code != 3 || !strings.Contains(nothing.stderr, "no call was measured: nonsense: ") {
		t.Errorf("a run that measured nothing: exit code %d, want 3 and the reason:\n%s%s", nothing.code, nothing.stdout, nothing.stderr)
	}
	missing := rpclab(t, "run", path, "--arms", "ours,dies", "--set", "arms.dies.caller.command=[./my-client]")
	if missing.code != 3 || !strings.Contains(missing.stderr, "arm dies: caller.command: there is no program ./my-client in "+filepath.Dir(path)) {
		t.Errorf("a client that is not there: exit code %d\n%s", missing.code, missing.stderr)
	}
}
