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

// startIn deploys a backend on this machine and starts infrastructure below a process beside it.
func startIn(t *testing.T, o infrastructureSpec) (remoteInfrastructure, error) {
	t.Helper()
	c, service := deploy(t)
	processes, err := c.StartCallers(t.Context(), cluster.CallerSpec{Name: infrastructureCommandName, Count: 1, Args: []string{infrastructureCommandName}})
	if err != nil {
		t.Fatal(err)
	}
	o.Service, o.Callers = service, 1
	return startRemoteInfrastructure(t.Context(), o, true, []cluster.Process{processes[0].Process})
}

func TestInfrastructureThatCannotStartSaysWhy(t *testing.T) {
	for name, o := range map[string]infrastructureSpec{
		"no route": {Route: "no-such-route"},
		"model":    {Route: "direct", Gateway: &gatewaySpec{Model: "no-such-model"}},
	} {
		up, err := startIn(t, o)
		if err == nil {
			up.end()
		}
		if err == nil || !strings.Contains(err.Error(), "infrastructure-0") || !strings.Contains(err.Error(), "no such") && !strings.Contains(err.Error(), "no-such") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInfrastructureThatDiesIsAFailure(t *testing.T) {
	testkit.Rpclab(t)               // is built where it stays
	t.Setenv("TMPDIR", t.TempDir()) // one that is killed removes nothing
	up, err := startIn(t, infrastructureSpec{Route: "forwarder"})
	if err != nil {
		t.Fatal(err)
	}
	defer up.end()
	if lost := up.failures(); len(lost) != 0 {
		t.Errorf("losses before: %q", lost)
	}
	up[0].Kill()
	lost := up.failures()
	if len(lost) != 1 || !strings.Contains(lost[0], "infrastructure-0") || !strings.Contains(lost[0], "ended unexpectedly") {
		t.Errorf("losses: %q", lost)
	}
	if used, err := up.used(component.Proxy); err == nil {
		t.Errorf("one that is gone used %+v", used)
	}
	if up.resetUsage() == nil || up.close() == nil {
		t.Error("one that is gone obeys")
	}
}

func TestInfrastructureEndsWithTheLab(t *testing.T) {
	up, err := startIn(t, infrastructureSpec{Route: "forwarder"})
	if err != nil {
		t.Fatal(err)
	}
	defer up.end()
	if err := up[0].Stdin().Close(); err != nil { // as when the lab is gone
		t.Fatal(err)
	}
	select {
	case <-up[0].Done():
	case <-time.After(time.Minute):
		t.Fatal("it is still running without a lab")
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
		t.Fatal("it is still running after SIGTERM")
	}
}

// Roles share their container.
func TestThrottlingOfAContainerIsCountedOnce(t *testing.T) {
	began := measure.ReadProcessorTimes()
	began.Throttled -= time.Second
	all := map[string]cluster.Usage{component.Proxy: {}, component.Gateway: {MaxRSS: 1}, component.ControlPlane: {MaxRSS: 1}}
	addContainerUsage(all, began)
	if all[component.Gateway].Throttled < time.Second || all[component.Proxy].Throttled+all[component.ControlPlane].Throttled != 0 {
		t.Errorf("the roles waited %+v", all)
	}
}
