package local

import (
	"testing"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
)

// run starts a program until the test ends.
func run(t *testing.T, args ...string) *process.Process {
	t.Helper()
	p, err := process.Start(process.Spec{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestABackendThatHasEndedHasNothingToReset(t *testing.T) {
	ended := run(t, "true")
	<-ended.Done()
	d := &deployment{account: cluster.NewAccounting(), replicas: []*replica{{id: "greeter-0", process: ended, counted: true}}}
	if err := d.ResetUsage(); err != nil {
		t.Errorf("ResetUsage returns %v, want nil", err)
	}
	if used := d.Usage()["greeter-0"]; used.CPU != 0 {
		t.Errorf("the usage since then is %+v, want none", used)
	}
}

// A proxy ends with exit code 0 when its backend no longer listens.
func TestAProxyThatExitsByItselfIsNotAFailure(t *testing.T) {
	for command, want := range map[string]bool{"true": false, "false": true} {
		r := &replica{id: "greeter-0", process: run(t, "sleep", "60"), proxy: &faultProxy{Process: run(t, command)}}
		r.watchProxy()
		if got := r.proxy.died.Load(); got != want {
			t.Errorf("a proxy that ends as %s does has died before its backend: %t, want %t", command, got, want)
		}
		<-r.process.Done() // no call reaches it
	}
}
