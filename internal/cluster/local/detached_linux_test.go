package local_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
)

// daemon is a program like `docker run`: another process, here the test, listens at its address until the program stops.
func daemon(t *testing.T) (p *cluster.Program, stopped func(id string) bool) {
	t.Helper()
	dir := t.TempDir()
	tick := time.NewTicker(5 * time.Millisecond)
	t.Cleanup(tick.Stop)
	go func() {
		for listening := map[string]bool{}; ; {
			select {
			case <-tick.C:
			case <-t.Context().Done():
				return
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*.address"))
			for _, file := range files {
				address, err := os.ReadFile(file)
				if err != nil || listening[file] {
					continue
				}
				if listener, err := net.Listen("tcp", string(address)); err == nil {
					listening[file] = true
					context.AfterFunc(t.Context(), func() { _ = listener.Close() })
				}
			}
		}
	}()
	const text = `trap 'echo >"$0/$2.stopped"; exit' TERM; printf %s "$1" >"$0/new"; mv "$0/new" "$0/$2.address"; while :; do sleep 0.05; done`
	p = &cluster.Program{Command: []string{"sh", "-c", text, dir, "{{.Address}}", "{{.ID}}"}, Ready: cluster.Ready{Kind: cluster.ReadyTCP}}
	return p, func(id string) bool { _, err := os.Stat(filepath.Join(dir, id+".stopped")); return err == nil }
}

// The usage of `docker run` is not that of the server. SIGKILL would leave the container running.
func TestAServerThatAnotherProcessStartsIsNeitherMeasuredNorKilled(t *testing.T) {
	c := newCluster(t, local.Options{})
	p, stopped := daemon(t)
	d := deploy(t, c, cluster.Spec{Program: p, Replicas: 1})
	const want = "was not started by `sh` (in a container?)"
	if why := d.(cluster.Unmeasured).WhyUsageUnknown(); d.Usage() != nil || !strings.HasSuffix(why, want) {
		t.Errorf("the usage is %v, and unknown because %q; want it unknown because the process %s", d.Usage(), why, want)
	}
	if pids, known := d.(cluster.FoundProcesses).FoundProcesses(); pids != nil || known {
		t.Errorf("the processes are %v (known: %t), want them unknown", pids, known)
	}
	for name, event := range map[string]func(context.Context, int) ([]string, error){"kill": d.Kill, "pause": d.Pause} {
		if _, err := event(t.Context(), 1); !errors.Is(err, cluster.ErrOutOfReach) || !strings.HasPrefix(err.Error(), name+" greeter: ") {
			t.Errorf("%s: error %v, want %v", name, err, cluster.ErrOutOfReach)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if !stopped("greeter-0") {
		t.Error("the program received no stop signal")
	}
}

func TestALimitThatDoesNotReachTheServerIsRefused(t *testing.T) {
	p, _ := daemon(t)
	_, err := newCluster(t, local.Options{NoCgroups: true}).Deploy(t.Context(), cluster.Spec{Name: "greeter", Program: p, Replicas: 1, CPUs: 0.5})
	if err == nil || !strings.Contains(err.Error(), "so server.cpus and server.memory do not limit it") {
		t.Errorf("error %v, want that no limit holds", err)
	}
}

// `docker run` that pulls its image is not ready, and nobody knows yet that a daemon starts the server.
func TestAProgramThatIsNotReadyReceivesItsStopSignal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stopped")
	p := &cluster.Program{
		Command: []string{"sh", "-c", `trap 'echo >"$0"; exit' TERM; while :; do sleep 0.05; done`, file},
		Ready:   cluster.Ready{Kind: cluster.ReadyTCP}, ReadyTimeout: 300 * time.Millisecond,
	}
	if _, err := newCluster(t, local.Options{}).Deploy(t.Context(), cluster.Spec{Name: "greeter", Program: p, Replicas: 1}); err == nil {
		t.Fatal("a program that does not listen is ready")
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the program received no stop signal: %v", err)
	}
}
