package lab

import (
	"testing"
	"time"

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
