package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/language"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// TestExperimentsOnASpringServer writes a service file from the reflection of a Spring gRPC server, and runs
// experiments on three replicas of it, each of which takes seconds of CPU time to start. They are not told that an experiment
// runs.
func TestExperimentsOnASpringServer(t *testing.T) {
	t.Parallel()
	all := language.All()
	command := built(t, all[slices.IndexFunc(all, func(l language.Language) bool { return l.Name == "java" })])
	address := free(t)
	server := start(t, address, append(slices.Clone(command), "--listen", address)...)
	draft, err := exec.Command(testkit.Rpclab(t), "init", address).Output()
	server.Stop(startWithin)
	if err != nil {
		t.Fatal(err)
	}
	replica, err := json.Marshal(append(slices.Clone(command), "--listen", "{{.Address}}"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "greeter.yaml")
	text := strings.Replace(string(draft), "addresses: ['"+address+"']", "command: "+string(replica)+"\n  replicas: 3\n  timeout: 5m", 1) // six servers or more start at a time, on a busy machine
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"channels", "--quick", "--rounds", "1", "--arms", "shared,endpointslice"},
		{"churn", "--quick", "--set", "events=[{at: 1s, kill: 1}]", "--arms", "clusterip-shared,endpointslice"},
		{"rollout", "--quick", "--arms", "clusterip,endpointslice"},
		{"proxy-tax", "--quick", "--rounds", "1", "--arms", "envoy-gateway,nginx-gateway"},
	} {
		out := filepath.Join(dir, args[0]+".json")
		said, err := exec.Command(testkit.Rpclab(t), append([]string{"run", "--no-store", "--no-wait", "--json", out, "--service", file}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", args[0], err, said, text)
		}
		written, err := os.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		d := resulttest.Read(t, written)
		written.Close()
		for _, arm := range d.Arms {
			answered := uint64(0)
			for _, n := range arm.Backends {
				answered += n
			}
			if answered == 0 || answered != arm.Calls-arm.Failed() {
				t.Errorf("%s, arm %s: the backends answered %d of %d calls, of which %d failed: %v", args[0], arm.Name, answered, arm.Calls, arm.Failed(), arm.Samples)
			}
		}
		for _, e := range d.Events {
			if e.Error != "" {
				t.Errorf("%s, arm %s: %s: %s", args[0], e.Arm, e.What, e.Error)
			}
		}
	}
}
