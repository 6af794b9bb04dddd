package conformance

import (
	"fmt"
	"os"
	"testing"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// Arms that take turns have many loads, so threads that stay would become hundreds.
func TestCallersEndTheThreadsOfTheirStreams(t *testing.T) {
	eachCaller(t, func(t *testing.T, k callerKind, command []string) {
		if !k.streams {
			return
		}
		addr := serving(t, k, &workload.Server{}).Addr().String()
		on := fields{"stream": "ping-pong", "method": rpclabv1.Chain_Increases_FullMethodName}
		c := callsFor(t, command, jobAt(k, addr, "increase", fields{}, on)).ready(t)
		threads := func() int {
			all, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", c.p.Pid()))
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		c.allAnswered(t, c.load(t, inTurn(4, 20)), 20, "b")
		before := threads()
		for range 10 {
			c.allAnswered(t, c.load(t, inTurn(4, 20)), 20, "b")
		}
		const few = 10 // of the library, which starts them when it needs them
		testkit.Await(t, fmt.Sprintf("the threads end: there were %d before 10 loads of 4 users", before), func() bool { return threads() <= before+few })
	})
}
