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
