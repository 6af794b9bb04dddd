package lab

import (
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/process"
	"rpclab/internal/route/part"
	"rpclab/internal/testkit"
)

// standOn deploys a backend on this machine and has a process stand a route up before it.
func standOn(t *testing.T, o standOrder) (there, error) {
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
	crew, err := c.Run(t.Context(), cluster.Crew{Name: standName, Count: 1, Args: []string{standName}})
	if err != nil {
		t.Fatal(err)
	}
	o.Service, o.Callers = d.Service(), 1
	return standThere(t.Context(), o, true, []cluster.Process{crew[0].Process})
}

func TestAStandThatCannotSaysWhy(t *testing.T) {
	for name, o := range map[string]standOrder{
		"no route": {Route: "no-such-route"},
		"model":    {Route: "direct", Gateway: &standGateway{Model: "no-such-model"}},
	} {
		up, err := standOn(t, o)
		if err == nil {
			up.end()
		}
		if err == nil || !strings.Contains(err.Error(), "stand-0") || !strings.Contains(err.Error(), "no such") && !strings.Contains(err.Error(), "no-such") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAStandThatIsLostIsALoss(t *testing.T) {
	testkit.Rpclab(t)               // is built where it stays
	t.Setenv("TMPDIR", t.TempDir()) // one that is killed removes nothing
	up, err := standOn(t, standOrder{Route: "forwarder"})
	if err != nil {
		t.Fatal(err)
	}
	defer up.end()
	if lost := up.losses(); len(lost) != 0 {
		t.Errorf("losses before: %q", lost)
	}
	up[0].Kill()
	lost := up.losses()
	if len(lost) != 1 || !strings.Contains(lost[0], "stand-0") || !strings.Contains(lost[0], "died") {
		t.Errorf("losses: %q", lost)
	}
	if used, err := up.used(part.Proxy); err == nil {
		t.Errorf("one that is gone used %+v", used)
	}
	if up.resetUsage() == nil || up.close() == nil {
		t.Error("one that is gone obeys")
	}
}

func TestWhatStandsEndsWithTheLab(t *testing.T) {
	up, err := standOn(t, standOrder{Route: "forwarder"})
	if err != nil {
		t.Fatal(err)
	}
	defer up.end()
	if err := up[0].In().Close(); err != nil { // as when the lab is gone
		t.Fatal(err)
	}
	select {
	case <-up[0].Done():
	case <-time.After(time.Minute):
		t.Fatal("it goes on without a lab")
	}
	if up[0].Err() != nil {
		t.Errorf("it ended with %v: %s", up[0].Err(), up[0].Log())
	}
}

func TestAStandEndsWhenItIsToldToOrHearsNonsense(t *testing.T) {
	if err := Stand(t.Context(), strings.NewReader(""), io.Discard, nil); err == nil || !strings.Contains(err.Error(), "rpclab run") {
		t.Errorf("without an order: %v", err)
	}
	order := `{"route": "direct", "settings": {"proxy": {"workers": 1}}}` + "\n"
	if err := Stand(t.Context(), strings.NewReader(order+"{]"), io.Discard, nil); err == nil || !strings.Contains(err.Error(), "read a command") {
		t.Errorf("nonsense: %v", err)
	}
	told, err := process.Start(process.Spec{Args: []string{testkit.Rpclab(t), standName}})
	if err != nil {
		t.Fatal(err)
	}
	defer told.Kill()
	if _, err := io.WriteString(told.Stdin, order); err != nil {
		t.Fatal(err)
	}
	testkit.AwaitFor(t, time.Minute, "it stands", func() bool { return strings.Contains(told.Log(), "stands") })
	if err := told.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told.Done():
	case <-time.After(time.Minute):
		t.Fatal("it goes on after SIGTERM")
	}
}
