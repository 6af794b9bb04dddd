package external

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/measure"
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

// Each stream occupies a worker of the server until it ends, so more streams than workers would wait for each other.
func TestAWarmUpHasThePingPongStreamsOfTheLoad(t *testing.T) {
	line, err := (&session{pingPong: 2}).loadRequest(pace.Burst{Calls: 30}, time.Now())
	if want := (closedLoad{Users: 2, Calls: 30}); err != nil || line.Burst != nil || *line.Closed != want {
		t.Errorf("the program is asked for %+v, %v; want %+v", line, err, want)
	}
}

// A time that no clock has would be an index of a timeline.
func TestCallsAtImpossibleTimesAreErrors(t *testing.T) {
	for _, c := range []struct {
		due, sent, done time.Duration // since the start, 2 s ago
		want            string        // empty: no error
	}{
		{0, 0, 1, ""},
		{-time.Second, 0, 1, "a call was due at -1s"},
		{0, 2, 1, "sent at 2ns and answered at 1ns"},
		{0, 0, 2*time.Second + 500*time.Millisecond, ""},
		{0, 0, time.Hour, "a call was answered at 1h0m0s, which is after now, "},
	} {
		start := time.Now().Add(-2 * time.Second)
		record := make([]byte, 8, callRecordBytes)
		for _, at := range []time.Duration{c.due, c.sent, c.done} {
			record = binary.LittleEndian.AppendUint64(record, uint64(start.Add(at).UnixNano()))
		}
		record = append(record, 14)[:callRecordBytes]
		err := (&session{}).recordCalls(measure.NewShards(1, 0), record, start)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("a call due at %v, sent at %v and answered at %v: error %v, want %q", c.due, c.sent, c.done, err, c.want)
		}
	}
}
