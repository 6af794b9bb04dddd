package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
	"rpclab/internal/testkit/pages"
)

// TestTheCommandsOfYourClient runs the commands of docs/your-client.md: rpclab's caller, a client in Go with retries of
// its own, and one in Python.
func TestTheCommandsOfYourClient(t *testing.T) {
	t.Parallel()
	var commands []string
	for _, b := range pages.TestedBy(t, "../../docs/your-client.md") {
		commands = append(commands, b.Lines()...)
	}
	if len(commands) != 2 {
		t.Fatalf("the page has the commands %q, want 2", commands)
	}
	file := filepath.Join(t.TempDir(), "result.json")
	t.Cleanup(func() { _ = os.Remove("../../examples/go-client/go-client") })
	run := func(command string) {
		args := strings.Fields(command)
		if args[0] == "rpclab" {
			args[0] = testkit.Rpclab(t)
			args = append(args, "--no-store", "--no-wait", "--json", file)
		}
		c := exec.Command(args[0], args[1:]...)
		c.Dir = "../.."
		c.Env = append(os.Environ(), "PYTHONPATH="+testkit.Cached(t, "conformance", "python-service"), "PYTHONDONTWRITEBYTECODE=1")
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, said)
		}
	}
	run(commands[0])
	answeredBy := func(arm result.Arm) (answered uint64) {
		for _, n := range arm.Backends {
			answered += n
		}
		return answered
	}
	var d result.Document
	for range 3 { // a client that starts late on a busy machine calls while a backend fails
		run(commands[1])
		if d = readResult(t, file); !slices.ContainsFunc(d.Arms, func(arm result.Arm) bool { return answeredBy(arm) == 0 }) {
			break
		}
	}
	for _, arm := range d.Arms {
		answered := answeredBy(arm)
		if arm.Calls != 200 || answered != arm.Calls-arm.Failed() || answered == 0 || arm.Errors["UNAVAILABLE"] != arm.Failed() {
			t.Errorf("arm %s: %d calls, backends %v, errors %v; want 200 calls, answered by known backends or UNAVAILABLE", arm.Name, arm.Calls, arm.Backends, arm.Samples)
		}
		if used := arm.Resources.Client; used.CPU <= 0 || used.RSS < 1<<20 {
			t.Errorf("arm %s: its client used %+v, want CPU time and memory", arm.Name, used)
		}
	}
}

func readResult(t *testing.T, file string) result.Document {
	t.Helper()
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	return resulttest.Read(t, text)
}
