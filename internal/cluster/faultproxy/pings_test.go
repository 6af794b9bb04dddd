package faultproxy_test

import (
	"sync"
	"testing"
	"time"

	"rpclab/internal/workload"
)

// A gRPC client sends a PING when data arrives, and a server ends a connection with many PINGs between its
// responses. It has sent delayed responses long before they arrive.
func TestPingsAfterDelayedResponsesEndNoCall(t *testing.T) {
	address, _ := serve(t, &workload.Server{ID: "b", Delay: 100 * time.Millisecond})
	proxy, address := proxied(t, address)
	channel := dial(t, address)
	answered := make(chan struct{}, 51)
	call := func() {
		if _, _, err := greet(t, channel, "you"); err != nil {
			t.Error(err)
		}
		answered <- struct{}{}
	}
	var calls sync.WaitGroup
	proxy.SetFault(workload.Fault{Slow: 200 * time.Millisecond})
	every := time.Tick(2 * time.Millisecond)
	for range 50 {
		calls.Go(call)
		<-every
	}
	<-answered
	calls.Go(call) // the server handles it while delayed responses arrive
	calls.Wait()
}
