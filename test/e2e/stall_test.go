package e2e

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
)

// These tests prove that latency counts from the time a call was due. A server is stopped for 2 s in a
// run of 10 s at 500 calls/s. The true latencies follow from the schedule: call n is due at n/500 s,
// reaches the server at once, and is answered after the usual delay or after the stop.
const (
	proofRate  = 500
	proofRun   = 10 * time.Second
	proofStall = 2 * time.Second
	within     = 0.02
)

// TestOpenLoopReportsAStallAndClosedLoopHidesIt runs both loops at the same time, each with its own
// server.
func TestOpenLoopReportsAStallAndClosedLoopHidesIt(t *testing.T) {
	t.Run("open loop reports the stall", func(t *testing.T) {
		t.Parallel()
		undisturbed(t, func(_ int, wrong func(format string, args ...any)) { openLoopReports(t, wrong) })
	})
	t.Run("closed loop hides the stall", func(t *testing.T) {
		t.Parallel()
		undisturbed(t, func(_ int, wrong func(format string, args ...any)) { closedLoopHides(t, wrong) })
	})
}

// openLoopReports compares percentiles with the schedule. It allows for timers that are late on a busy
// machine, as timerLateness measures.
func openLoopReports(t *testing.T, wrong func(format string, args ...any)) {
	t.Helper()
	late := timerLateness()
	a, stop := stalled(t, "--rate", strconv.Itoa(proofRate))
	allowed := 2 * milliseconds(late())
	if a.Limited != "" {
		wrong("limited: %s", a.Limited)
		return
	}
	var schedule []float64
	for n := range proofRate * int(proofRun/time.Second) {
		due := time.Duration(n) * time.Second / proofRate
		schedule = append(schedule, milliseconds(stop.answered(due)-due))
	}
	if a.Calls != uint64(len(schedule)) {
		t.Errorf("%d calls, want %d as in the schedule", a.Calls, len(schedule))
	}
	slices.Sort(schedule)
	for _, p := range []struct {
		name  string
		share float64
		got   float64
	}{{"p50", 0.5, a.Latency.P50}, {"p90", 0.9, a.Latency.P90}, {"p99", 0.99, a.Latency.P99}, {"max", 1, a.Latency.Max}} {
		due := schedule[int(math.Ceil(p.share*float64(len(schedule))))-1]
		off := p.got/due - 1
		t.Logf("%s: %.1f ms reported, %.1f by the schedule (%+.2f %%)", p.name, p.got, due, 100*off)
		if math.Abs(p.got-due) > within*due+allowed {
			wrong("%s differs from the schedule by more than %.0f %% and %.1f ms", p.name, 100*within, allowed)
		}
	}
}

// timerLateness sets timers of 1 ms until the returned function is called, which returns the largest
// delay.
func timerLateness() (late func() time.Duration) {
	over, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for {
			due := time.Now().Add(time.Millisecond)
			select {
			case <-over:
				worst <- most
				return
			case <-time.After(time.Until(due)):
				most = max(most, time.Since(due))
			}
		}
	}()
	return func() time.Duration { close(over); return <-worst }
}

// closedLoopHides checks that each of 50 users meets the stall in at most one of about 80 calls.
func closedLoopHides(t *testing.T, wrong func(format string, args ...any)) {
	t.Helper()
	const users = 50 // 500 calls/s before the stall
	a, _ := stalled(t, "--concurrency", strconv.Itoa(users))
	values, err := a.Latency.Decode()
	if err != nil {
		t.Fatal(err)
	}
	met := int64(0)
	for latency, calls := range values.ForEachBucket {
		if latency > int64(proofStall/2) {
			met += calls
		}
	}
	t.Logf("p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, max %.1f ms; %d of %d calls met the stall",
		a.Latency.P50, a.Latency.P90, a.Latency.P99, a.Latency.Max, met, a.Calls)
	if met < 1 || met > users {
		wrong("%d calls met the stall, want 1 to %d", met, users)
	}
	if a.Latency.P90 > milliseconds(2*punctualDelay) {
		wrong("p90 is %.1f ms and shows the stall, want at most twice the delay of the server", a.Latency.P90)
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// stop is when the server was stopped, from the start of the load. service is the usual delay.
type stop struct{ from, to, service time.Duration }

// answered returns when a call is answered: a call that reaches the stopped server, or whose answer is
// due during the stop, waits for its end.
func (s stop) answered(sent time.Duration) time.Duration {
	switch done := sent + s.service; {
	case sent >= s.from && sent < s.to:
		return s.to + s.service
	case sent < s.from && done >= s.from:
		return max(done, s.to)
	default:
		return done
	}
}

// stalled runs a load against a punctual server that it stops for a while.
func stalled(t *testing.T, pace ...string) (result.Arm, stop) {
	t.Helper()
	server, address := startPunctualServer(t)
	c := command(t, t.TempDir(), append([]string{
		"load", "--json", "-", "--duration", proofRun.String(), "--call", sayHello, "-d", `{"name": "you"}`,
		"--proto", "../../api/rpclab/v1/greeter.proto", "--import-path", "../../api", address,
	}, pace...)...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	signalled := func(after time.Duration, s os.Signal) time.Time {
		<-time.After(after)
		at := time.Now()
		if err := server.Signal(s); err != nil {
			t.Fatal(err)
		}
		return at
	}
	from := signalled(4*time.Second, syscall.SIGSTOP)
	to := signalled(proofStall, syscall.SIGCONT)
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	a := resulttest.Read(t, &stdout).Arms[0]
	if len(a.Errors) > 0 || a.Dropped > 0 {
		t.Fatalf("errors %v, %d dropped", a.Errors, a.Dropped)
	}
	began := a.Trials[0].Started
	return a, stop{from.Sub(began), to.Sub(began), punctualDelay}
}
