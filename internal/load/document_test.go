package load

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

func TestAGeneratorThatIsLateOrBusyLimitsTheLoad(t *testing.T) {
	open, withoutThink, withThink := pace.Rate{PerSecond: 1}, pace.Closed{Users: 1}, pace.Closed{Users: 1, Think: time.Second}
	onTime, late := result.Measures{}, result.Measures{Lateness: result.Histogram{P99: 5}, Latency: result.Histogram{P99: 9}}
	usuallyLate := result.Measures{Lateness: result.Histogram{P50: 1, P99: 2}, Latency: result.Histogram{P50: 2, P99: 90}}
	idle, busy := measure.Measurement{Calls: 1, Elapsed: time.Second}, measure.Measurement{Calls: 1, Elapsed: time.Second, CPU: 1950 * time.Millisecond}
	brief := measure.Measurement{Calls: 1, Elapsed: time.Millisecond, CPU: 3 * time.Millisecond}
	for _, test := range []struct {
		pace pace.Pace
		m    measure.Measurement
		seen result.Measures
		want string // "": not limited
	}{
		{open, idle, onTime, ""},
		{open, idle, late, "rpclab sent calls up to 5.0 ms late (p99)"},
		{open, idle, usuallyLate, "rpclab sent calls up to 1.0 ms late (p50)"},
		{open, busy, late, "rpclab used 1.95 of 2 processors"}, // also concerns p50
		{withThink, idle, late, "rpclab sent calls up to 5.0 ms late"},
		{withoutThink, idle, late, ""}, // users without think time have no due times
		{withoutThink, busy, onTime, "rpclab used 1.95 of 2 processors"},
		{withoutThink, measure.Measurement{Calls: 1, Window: 10 * time.Second, Elapsed: 30 * time.Second, CPU: 19500 * time.Millisecond}, onTime, "rpclab used 1.95 of 2 processors"},
		{withoutThink, brief, onTime, ""},       // too short to judge
		{open, measure.Measurement{}, late, ""}, // no calls
	} {
		if got, _ := generatorLimit(test.pace, 2, test.m, test.seen); (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%+v with %v of CPU time, %g ms late: limited by %q, want %q", test.pace, test.m.CPU, test.seen.Lateness.P99, got, test.want)
		}
	}
}

// Some responses name the target itself, and some no server.
func TestResponsesWithoutAServerCountAsThoseOfTheTarget(t *testing.T) {
	recorder := measure.NewRecorder(0)
	for _, id := range []string{"", "a:1", ""} {
		recorder.Record(measure.Call{Done: time.Millisecond, Code: measure.OK, Backend: id})
	}
	seen, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	load := Load{settings: Settings{Target: "a:1", Engine: Wire}, pace: pace.Rate{PerSecond: 1}}
	trial := load.Trial(result.Trial{}, seen, time.Time{})
	if timeline := trial.Timeline.Backends["a:1"]; trial.Backends["a:1"] != 3 || len(timeline) == 0 || timeline[0] != 3 {
		t.Errorf("the target answered %v, in time %v; want 3 responses", trial.Backends, trial.Timeline.Backends)
	}
}

// Two loads with other data are not the same load. Values of metadata can be secrets.
func TestAResultHasAHashOfTheDataAndTheNamesOfMetadata(t *testing.T) {
	config := func(data string) map[string]any {
		load := Load{pace: pace.Rate{PerSecond: 1}, settings: Settings{
			Data: data, Stdin: strings.NewReader(`{"n": 3}`), HTTP: "POST", Metadata: []string{"X-Tag: b", "authorization: hunter2", "x-tag: a"},
		}}
		if err := load.readMessages(nil); err != nil {
			t.Fatal(err)
		}
		return load.config()
	}
	small, large := config(`{"n": 3}`), config(`{"n": 20000}`)
	if small["data_hash"] == large["data_hash"] || small["data_hash"] != config("@-")["data_hash"] {
		t.Errorf("the hashes are %v of small data, %v of large data, and %v of the small data from standard input", small["data_hash"], large["data_hash"], config("@-")["data_hash"])
	}
	if names := fmt.Sprint(small["metadata"]); names != "[authorization x-tag]" {
		t.Errorf("the metadata is %s, want its names alone", names)
	}
}
