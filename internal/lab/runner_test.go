package lab

import (
	"testing"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/security"
	"rpclab/internal/service"
)

// noInfrastructure is between callers and backends.
type noInfrastructure struct{ infrastructure }

func (noInfrastructure) service(int) cluster.Service { return cluster.Service{} }

func TestEachCallerKnowsItsShareOfTheNumbers(t *testing.T) {
	one := trial{Trial: experiment.Trial{Config: experiment.Config{Callers: 2}}}
	one.job.Calls, one.job.Command = []service.Spec{{Name: "get"}, {Name: "list"}}, &caller.Command{}
	for n := range 2 {
		job := assign(one, testbed{infrastructure: noInfrastructure{}}, n, security.Config{}).Job
		for _, call := range job.Calls {
			if call.Caller != uint64(n) || call.Callers != 2 {
				t.Errorf("the call %s of caller %d of 2 has the numbers of caller %d of %d", call.Name, n, call.Caller, call.Callers)
			}
		}
		if c := job.Command; c.Caller != uint64(n) || c.Callers != 2 {
			t.Errorf("the client of caller %d of 2 has the numbers of caller %d of %d", n, c.Caller, c.Callers)
		}
	}
	if one.job.Calls[0].Callers != 0 || one.job.Command.Callers != 0 {
		t.Error("the trial has the numbers of a caller")
	}
}
