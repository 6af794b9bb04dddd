package external

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process"
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

// Else all users who think would begin a block at once.
func TestUsersStartOneAfterAnother(t *testing.T) {
	line, err := (&session{}).loadRequest(pace.Closed{Users: 20, Ramp: time.Second, Think: time.Second, Duration: 3 * time.Second}, time.Now())
	if want := (closedLoad{Users: 20, Think: time.Second, Ramp: time.Second, Duration: 3 * time.Second}); err != nil || *line.Closed != want {
		t.Errorf("the program is asked for %+v, %v; want %+v", line.Closed, err, want)
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

// Nobody reads the output of a program that has violated the contract, and the program may still write.
func TestAProgramThatViolatesTheContractAndWritesOnCanBeEnded(t *testing.T) {
	for name, frame := range map[string]string{
		"a frame of an unknown type": "?\\0\\0\\0\\1x", "a frame that is too long": "C\\377\\377\\377\\377",
	} {
		s := &session{name: "program"}
		stdout, written := io.Pipe()
		var err error
		s.program, err = process.Start(process.Spec{Args: []string{"sh", "-c", "printf '" + frame + "%8000d' 0; exec cat /dev/zero"}, Stdout: written})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			<-s.program.Done()
			_ = written.Close()
		}()
		s.stdout, s.frames, s.requests = stdout, bufio.NewReader(stdout), json.NewEncoder(s.program.Stdin)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if _, _, err := s.Run(t.Context(), pace.Burst{Calls: 10}, measure.StartSignal{}); err == nil {
				t.Errorf("%s: no error", name)
			}
			_ = s.Close() // its input may be closed
		}()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_, _ = io.Copy(io.Discard, stdout) // so that the program ends
			<-ended
			t.Errorf("%s: the program does not end", name)
		}
	}
}
