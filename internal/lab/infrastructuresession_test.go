package lab

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/route/component"
	"rpclab/internal/testkit"
)

// startIn deploys a backend and starts infrastructure in a process of its own.
func startIn(t *testing.T, spec infrastructureSpec) (remoteInfrastructure, error) {
	t.Helper()
	c, service := deploy(t)
	processes, err := c.StartCallers(t.Context(), cluster.CallerSpec{Name: infrastructureCommandName, Count: 1, Args: []string{infrastructureCommandName}})
	if err != nil {
		t.Fatal(err)
	}
	spec.Service, spec.Callers = service, 1
	return startRemoteInfrastructure(t.Context(), spec, true, []cluster.Process{processes[0].Process})
}

func TestInfrastructureReportsWhyItCannotStart(t *testing.T) {
	for name, spec := range map[string]infrastructureSpec{
		"no route": {Route: "no-such-route"},
		"model":    {Route: "direct", Gateway: &gatewaySpec{Model: "no-such-model"}},
	} {
		up, err := startIn(t, spec)
		if err == nil {
			up.end()
		}
		if err == nil || !strings.Contains(err.Error(), "infrastructure-0") || !strings.Contains(err.Error(), "no such") && !strings.Contains(err.Error(), "no-such") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInfrastructureThatDiesIsAFailure(t *testing.T) {
	testkit.Rpclab(t)               // its directory is not of this test
	t.Setenv("TMPDIR", t.TempDir()) // a killed process does not remove its files
	up, err := startIn(t, infrastructureSpec{Route: "forwarder"})
	if err != nil {
		t.Fatal(err)
	}
	defer up.end()
	if failures := up.failures(); len(failures) != 0 {
		t.Errorf("failures before the kill: %q", failures)
	}
	up[0].Kill()
	failures := up.failures()
	if len(failures) != 1 || !strings.HasPrefix(failures[0], "infrastructure-0 ended unexpectedly: ") {
		t.Errorf("failures: %q", failures)
	}
	if used, err := up.used(component.Proxy); err == nil {
		t.Errorf("a process that was killed used %+v", used)
	}
	if up.resetUsage() == nil || up.close() == nil {
		t.Error("a process that was killed answers")
	}
}

func TestInfrastructureEndsWithTheLab(t *testing.T) {
	up, err := startIn(t, infrastructureSpec{Route: "forwarder"})
	if err != nil {
		t.Fatal(err)
	}
	defer up.end()
	if err := up[0].Stdin().Close(); err != nil { // as when the lab has ended
		t.Fatal(err)
	}
	select {
	case <-up[0].Done():
	case <-time.After(time.Minute):
		t.Fatal("it still runs without a lab")
	}
	if up[0].Err() != nil {
		t.Errorf("it ended with %v: %s", up[0].Err(), up[0].Log())
	}
}

func TestInfrastructureEndsOnSIGTERM(t *testing.T) {
	up, err := startIn(t, infrastructureSpec{Route: "forwarder"})
	if err != nil {
		t.Fatal(err)
	}
	defer up.end()
	if err := up[0].Process.(interface{ Signal(os.Signal) error }).Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-up[0].Done():
	case <-time.After(time.Minute):
		t.Fatal("it still runs after SIGTERM")
	}
}

func TestThrottlingOfAContainerIsCountedOnce(t *testing.T) {
	began := measure.ReadProcessorTimes()
	began.Throttled -= time.Second
	all := map[string]cluster.Usage{component.Proxy: {}, component.Gateway: {MaxRSS: 1}, component.ControlPlane: {MaxRSS: 1}}
	addContainerUsage(all, began)
	if all[component.Gateway].Throttled < time.Second || all[component.Proxy].Throttled+all[component.ControlPlane].Throttled != 0 {
		t.Errorf("the usage of the roles is %+v", all)
	}
}
