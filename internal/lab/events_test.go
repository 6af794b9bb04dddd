package lab

import (
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

func TestAnEventThatWasNotReachedSaysSo(t *testing.T) {
	acts := performEvents(t.Context(), testbed{}, []experiment.Event{{At: time.Hour, Kill: 1}}, time.Now(), func(result.Event) { t.Error("told of an event that was not done") })()
	if len(acts) != 1 || acts[0].String() != "kill 1" || acts[0].Err == nil || acts[0].Err.Error() != "the load ended before the event" {
		t.Errorf("%+v", acts)
	}
}
