package lab

import (
	"context"
	"fmt"
	"testing"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

func TestAnEventAfterTheEndOfTheLoadFails(t *testing.T) {
	performed := performEvents(t.Context(), testbed{}, []experiment.Event{{At: time.Hour, Kill: 1}}, time.Now(),
		func(result.Event) { t.Error("an event that was not performed is reported") })()
	if len(performed) != 1 || performed[0].String() != "kill 1" || performed[0].Err == nil || performed[0].Err.Error() != "the load ended before the event" {
		t.Errorf("the events are %+v", performed)
	}
}

// unreachable are servers whose processes rpclab did not start.
type unreachable struct{ cluster.Deployment }

func (unreachable) Kill(context.Context, int) ([]string, error) {
	return nil, fmt.Errorf("kill orders: %w", cluster.ErrOutOfReach)
}

// Else the report would say that a kill loses no call.
func TestAnEventThatCannotReachTheServersFailsTheTrial(t *testing.T) {
	reported := make(chan bool)
	end := performEvents(t.Context(), testbed{servers: unreachable{}}, []experiment.Event{{Kill: 1}, {At: time.Hour, Kill: 1}}, time.Now(), func(result.Event) { close(reported) })
	<-reported
	if err := outOfReach(end()); err == nil || err.Error() != "kill orders: rpclab did not start the process of the server" {
		t.Errorf("error %v, want that of the kill", err)
	}
	if err := outOfReach([]analysis.PerformedEvent{{Err: errTooLate}}); err != nil {
		t.Errorf("an event that was too late fails the trial: %v", err)
	}
}
