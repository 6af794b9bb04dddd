package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// said is what a run gave.
type said struct {
	document result.Document
	stderr   string
	code     int
}

// run runs an experiment on the cluster, which has the program's image.
func run(t *testing.T, args ...string) said {
	t.Helper()
	bed(t)
	image(t, "")
	file := filepath.Join(t.TempDir(), "result.json")
	c := exec.CommandContext(t.Context(), testkit.Rpclab(t), append([]string{"run", "--on", "kubernetes", "--no-store", "--json", file}, args...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	var s said
	var exit *exec.ExitError
	if err := c.Run(); errors.As(err, &exit) {
		s.code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	s.stderr = stderr.String()
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &s.document); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// well is a run that has to end well.
func well(t *testing.T, args ...string) result.Document {
	t.Helper()
	s := run(t, args...)
	if s.code != 0 {
		t.Fatalf("rpclab run %s: exit code %d\n%s", strings.Join(args, " "), s.code, s.stderr)
	}
	return s.document
}

// namespaces are those of runs.
func namespaces(t *testing.T) []string {
	t.Helper()
	return strings.Fields(kubectl(t, "get", "namespaces", "-l", "rpclab/run", "-o", "name"))
}

func TestChannelsHaveTheirShapeOnKubernetesAndLeaveNothing(t *testing.T) {
	d := well(t, "channels", "--quick", "--rounds", "1", "--arms", "shared,headless,endpointslice,kuberesolver")
	if d.Cluster != "kubernetes" || !strings.HasPrefix(d.Machine.Kubernetes, "v1.") {
		t.Errorf("the result is of the cluster %q, version %q", d.Cluster, d.Machine.Kubernetes)
	}
	for _, arm := range d.Arms {
		if lost := arm.Failed(); lost > 0 {
			t.Errorf("%s: %d calls failed: %v", arm.Name, lost, arm.Samples)
		}
		used := 0
		for _, calls := range arm.Backends {
			if calls > 0 {
				used++
			}
		}
		switch {
		case arm.Name == "shared" && used != 1:
			t.Errorf("one connection reached %d backends: %v", used, arm.Backends)
		case arm.Name != "shared" && arm.Balance.Jain < 0.99:
			t.Errorf("%s is uneven: %v", arm.Name, arm.Backends)
		}
		if arm.Resources.Client.CPU <= 0 || arm.Resources.Server.CPU <= 0 || arm.Resources.Server.RSS == 0 {
			t.Errorf("%s: what it took is not known: %+v", arm.Name, arm.Resources)
		}
	}
	if left := namespaces(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestBackendsThatGoGracefullyLoseNoCall(t *testing.T) {
	d := well(t, "testdata/ways.yaml", "--arms", "endpointslice,xds")
	for _, arm := range d.Arms {
		if lost := arm.Failed(); lost > 0 {
			t.Errorf("%s: %d of %d calls failed: %v", arm.Name, lost, arm.Calls, arm.Samples)
		}
		for _, trial := range arm.Trials {
			for _, e := range trial.Events {
				if e.Error != "" {
					t.Errorf("%s: %s: %s", arm.Name, e.What, e.Error)
				}
			}
			if len(trial.Backends) < 4 {
				t.Errorf("%s: after scale 4 there were %v", arm.Name, trial.Backends)
			}
		}
	}
}

func TestAPodThatIsKilledIsReplacedAndItsShareComesBack(t *testing.T) {
	d := well(t, "testdata/gone.yaml")
	trial := d.Arms[0].Trials[0]
	e := trial.Events[0]
	if len(e.Hit) != 1 || e.Error != "" {
		t.Fatalf("the event %s hit %v: %s", e.What, e.Hit, e.Error)
	}
	if len(trial.Backends) != 4 || e.Took.EndpointReady == nil || e.Took.FirstCall == nil {
		t.Errorf("no other took its place: %v, %+v", trial.Backends, e.Took)
	}
	if len(trial.Lost) > 0 {
		t.Errorf("an end that was asked for is a loss: %v", trial.Lost)
	}
}

func TestABackendWithTooLittleMemoryIsReportedAsOOMKilled(t *testing.T) {
	d := well(t, "channels", "--quick", "--rounds", "1", "--arms", "shared", "--set", "server.memory=40Mi", "--set", "load.burst=8000")
	lost := strings.Join(d.Arms[0].Trials[0].Lost, "\n")
	if !strings.Contains(lost, "OOMKilled") || !strings.Contains(lost, "40Mi") || !strings.Contains(lost, "pod greeter-") {
		t.Errorf("losses: %q", lost)
	}
}

func TestAnImageThatNoNodeFindsIsTheReason(t *testing.T) {
	s := run(t, "channels", "--quick", "--arms", "shared", "--image", "nowhere:v9")
	if s.code != 3 {
		t.Errorf("exit code %d, want 3", s.code)
	}
	for _, want := range []string{"nowhere:v9", "rpclab image build --push"} {
		if !strings.Contains(s.stderr, want) {
			t.Errorf("it does not say %q:\n%s", want, s.stderr)
		}
	}
	if left := namespaces(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestADrainedNodeLosesNoCallAndIsOpenedAgain(t *testing.T) {
	d := well(t, "testdata/drained.yaml")
	trial := d.Arms[0].Trials[0]
	if e := trial.Events[0]; len(e.Hit) == 0 || e.Error != "" {
		t.Errorf("the event %s hit %v: %s", e.What, e.Hit, e.Error)
	}
	if lost := d.Arms[0].Failed(); lost > 0 {
		t.Errorf("%d calls failed: %v", lost, d.Arms[0].Samples)
	}
	if closed := kubectl(t, "get", "nodes", "--field-selector", "spec.unschedulable=true", "-o", "name"); closed != "" {
		t.Errorf("nodes are closed still: %s", closed)
	}
}

func TestCallersInSeveralPodsShareALoad(t *testing.T) {
	d := well(t, "channels", "--quick", "--rounds", "1", "--arms", "endpointslice", "--set", "callers=4")
	trial := d.Arms[0].Trials[0]
	var calls uint64
	for _, c := range trial.Callers {
		calls += c.Calls
	}
	if len(trial.Callers) != 4 || calls != trial.Calls || calls == 0 {
		t.Errorf("%d callers made %d calls, and the trial has %d", len(trial.Callers), calls, trial.Calls)
	}
}
