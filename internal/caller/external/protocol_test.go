package external

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/pace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Callers that share a rate make the calls of one caller in turn.
func TestCallersShareARate(t *testing.T) {
	all := pace.Rate{PerSecond: 100, Duration: time.Second, Max: 9}
	for i := range 4 {
		share, err := pace.Spec{Rate: &all}.Share(i, 4).Pace()
		if err != nil {
			t.Fatal(err)
		}
		line, err := (&session{}).loadRequest(share, time.Now())
		if want := (openLoad{25, time.Duration(i) * 10 * time.Millisecond, time.Second}); err != nil || *line.Open != want {
			t.Errorf("caller %d is asked for %+v, %v; want %+v", i, line.Open, err, want)
		}
	}
}
