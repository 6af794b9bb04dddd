package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"rpclab/internal/language"
)

// waitInAThread are the models whose thread sleeps for the delay, and starlette, which does not learn that its client is gone:
// an abandoned call keeps its worker until its delay is over.
var waitInAThread = []string{"grpc-sync", "flask", "starlette", "rest-blocking", "rest-virtual"}

// TestServersFreeTheWorkerOfAnAbandonedCall makes calls whose client gives up: one has the only worker, the others queue.
func TestServersFreeTheWorkerOfAnAbandonedCall(t *testing.T) {
	eachServer(t, func(t *testing.T, m language.Model, command []string) {
		delay := time.Hour // far longer than a call may take
		if slices.Contains(waitInAThread, m.Name) {
			delay = 3 * time.Second // far longer than a busy machine delays the deadline below
		}
		_, c, _ := supervisedOn(t, free(t), m, append(command, "--workers", "1", "--delay", delay.String()))
		abandoned := make(chan error)
		for range 3 {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				abandoned <- greeted(ctx, t, c)
			}()
		}
		for range 3 {
			if err := <-abandoned; err == nil {
				t.Errorf("a call that its client gave up after 200 ms was answered; the delay is %v", delay)
			}
		}
		if _, _, err := increase(t.Context(), c, 1); err != nil {
			t.Errorf("after 3 calls whose client gave up, a call failed: %v", err)
		}
	})
}
