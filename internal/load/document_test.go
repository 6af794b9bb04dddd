package load

import (
	"strings"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

func TestAGeneratorThatIsLateOrBusyLimitsTheLoad(t *testing.T) {
	open, asks, thinks := pace.Rate{PerSecond: 1}, pace.Closed{Users: 1}, pace.Closed{Users: 1, Think: time.Second}
	onTime, late := result.Measures{}, result.Measures{Lateness: result.Histogram{P99: 5}, Latency: result.Histogram{P99: 9}}
	idle, busy := measure.Measurement{Calls: 1, Elapsed: time.Second}, measure.Measurement{Calls: 1, Elapsed: time.Second, CPU: 1950 * time.Millisecond}
	brief := measure.Measurement{Calls: 1, Elapsed: time.Millisecond, CPU: 3 * time.Millisecond}
	for _, c := range []struct {
		pace pace.Pace
		m    measure.Measurement
		seen result.Measures
		says string // "": it is not limited
	}{
		{open, idle, onTime, ""},
		{open, idle, late, "rpclab sent calls up to 5.0 ms late"},
		{thinks, idle, late, "rpclab sent calls up to 5.0 ms late"},
		{asks, idle, late, ""}, // whoever asks again at once is due when there is time
		{asks, busy, onTime, "it used 1.95 of 2 processors"},
		{asks, brief, onTime, ""},               // what it used was for its start
		{open, measure.Measurement{}, late, ""}, // nothing was called
	} {
		if got := generatorLimit(c.pace, 2, c.m, c.seen); (got == "") != (c.says == "") || !strings.HasPrefix(got, c.says) {
			t.Errorf("%+v, %+v, %g ms late: %q, not %q", c.pace, c.m.CPU, c.seen.Lateness.P99, got, c.says)
		}
	}
}
