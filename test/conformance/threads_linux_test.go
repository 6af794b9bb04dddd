package conformance

import (
	"fmt"
	"os"
	"testing"
	"time"

	rpclabv1 "rpclab/api/rpclab/v1"
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
		for end := time.Now().Add(10 * time.Second); threads() > before+few; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("10 loads of 4 users increased the threads from %d to %d", before, threads())
			}
		}
	})
}
