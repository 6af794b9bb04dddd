package lab

import (
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/route/component"
	"rpclab/internal/testkit"
)

// startIn deploys a backend on this machine and starts infrastructure below a process beside it.
func startIn(t *testing.T, o infrastructureSpec) (remoteInfrastructure, error) {
	t.Helper()
	c, err := local.New(local.Options{Server: []string{testkit.Rpclab(t), "server"}, Self: []string{testkit.Rpclab(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := c.Deploy(t.Context(), cluster.Spec{Name: "greeter", Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	processes, err := c.StartCallers(t.Context(), cluster.CallerSpec{Name: infrastructureCommandName, Count: 1, Args: []string{infrastructureCommandName}})
	if err != nil {
		t.Fatal(err)
	}
	o.Service, o.Callers = d.Service(), 1
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
	if len(lost) != 1 || !strings.Contains(lost[0], "infrastructure-0") || !strings.Contains(lost[0], "died") {
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

func TestInfrastructureEndsOnCloseAndOnInvalidInput(t *testing.T) {
	if err := ServeInfrastructure(t.Context(), strings.NewReader(""), io.Discard, nil); err == nil || !strings.Contains(err.Error(), "rpclab run") {
		t.Errorf("without an order: %v", err)
	}
	order := `{"route": "direct", "settings": {"proxy": {"workers": 1}}}` + "\n"
	if err := ServeInfrastructure(t.Context(), strings.NewReader(order+"{]"), io.Discard, nil); err == nil || !strings.Contains(err.Error(), "read a command") {
		t.Errorf("nonsense: %v", err)
	}
	run, err := process.Start(process.Spec{Args: []string{testkit.Rpclab(t), infrastructureCommandName}})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Kill()
	if _, err := io.WriteString(run.Stdin, order); err != nil {
		t.Fatal(err)
	}
	testkit.AwaitFor(t, time.Minute, "it reports its state", func() bool { return strings.Contains(run.Log(), "state") })
	if err := run.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-run.Done():
	case <-time.After(time.Minute):
		t.Fatal("it is still running after SIGTERM")
	}
}

// Roles share their container.
func TestThrottlingOfAContainerIsCountedOnce(t *testing.T) {
	began := measure.ReadProcessorTimes()
	began.Throttled -= time.Second
	all := withContainerUsage(infrastructureReply{Usage: map[string]cluster.Usage{component.Proxy: {}, component.Gateway: {MaxRSS: 1}, component.ControlPlane: {MaxRSS: 1}}}, began).Usage
	if all[component.Gateway].Throttled < time.Second || all[component.Proxy].Throttled+all[component.ControlPlane].Throttled != 0 {
		t.Errorf("the roles waited %+v", all)
	}
}
