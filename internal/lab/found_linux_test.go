package lab_test

import (
	"fmt"
	"os"
	"testing"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/measure"
)

// A backend at server.addresses may run on this machine. What it uses is not the CPU time of other programs.
func TestAServerAtAnAddressOfThisMachineIsNoOtherProgram(t *testing.T) {
	for _, design := range []string{"isolated", "interleaved"} {
		t.Run(design, func(t *testing.T) {
			o := options(t)
			servers, err := o.Cluster.Deploy(t.Context(), cluster.Spec{Name: "greeter", Replicas: 1})
			if err != nil {
				t.Fatal(err)
			}
			at, _ := servers.Endpoints().Current()
			server := servers.(cluster.LocalProcesses).Processes()[0].PID
			o.Processors = func() (p measure.ProcessorTimes) { // of a machine on which nothing else runs
				p.Busy, _ = measure.TreesCPU(os.Getpid())
				return p
			}
			before, _ := measure.CPU(server)
			d, err := lab.Run(t.Context(), plan(t, fmt.Sprintf(`
experiment: found
question: Does it work?
design: %s
services:
  hello: {server: {addresses: ["%s"]}, calls: {hello: {method: rpclab.v1.Greeter/SayHello, data: {name: x}}}}
defaults: {service: hello, workload: {call: hello}, route: direct, load: {closed: {users: 4, duration: 1s}}}
arms: {a: {}, b: {caller: {channel: per-user}}}
rounds: 1
`, design, at.Endpoints[0].Addr), experiment.Options{Seed: 1}), o)
			if err != nil {
				t.Fatal(err)
			}
			used, err := measure.CPU(server)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range d.Arms {
				m := a.Trials[0].Machine
				if m == nil || m.Others == nil {
					t.Errorf("arm %s: what other programs used is not known", a.Name)
				} else if *m.Others > 0.1 {
					t.Errorf("arm %s: other programs used %.2f of the CPU time, want 0; the server used %v", a.Name, *m.Others, used-before)
				}
			}
		})
	}
}
