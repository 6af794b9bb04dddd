package conformance

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rpclab/internal/language"
	"rpclab/internal/process"
	"rpclab/internal/testkit"
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
		p, c, out := supervisedOn(t, free(t), m, append(command, "--workers", "1", "--delay", delay.String()))
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
		if !slices.Contains(queueInALibrary, m.Name) {
			countsWaitingCalls(t, p, c, out)
		}
	})
}

// queueInALibrary are the models whose library starts a call only in a free thread.
var queueInALibrary = []string{"grpc-sync", "flask", "rest-blocking"}

// countsWaitingCalls makes calls of which all but one wait for the only worker. A server counts them all, and rejects others at
// once.
func countsWaitingCalls(t *testing.T, p *process.Process, c contact, out *said) {
	t.Helper()
	count := func() (calls int) {
		before := strings.Count(out.String(), "\n")
		order(t, p, `{"count": true}`)
		testkit.Await(t, "it has written its count", func() bool { return strings.Count(out.String(), "\n") > before })
		lines := strings.Fields(out.String())
		calls, err := strconv.Atoi(lines[len(lines)-1])
		if err != nil {
			t.Fatal(err)
		}
		return calls
	}
	counted := count()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for range 3 {
		go func() { ended <- greeted(ctx, t, c) }()
	}
	testkit.Await(t, "it has counted the calls that wait", func() bool { return count() >= counted+3 })
	order(t, p, `{"fault": {"code": 14}}`)
	testkit.Await(t, "it rejects calls at once", func() bool {
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := greeted(soon, t, c)
		return err != nil && soon.Err() == nil
	})
	cancel()
	for range 3 {
		<-ended
	}
}
