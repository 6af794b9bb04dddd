package calculate

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func at(sent, done time.Duration, code string) Call {
	return Call{Sent: sent, Done: done, Code: code, Message: "why"}
}

func summaryText(calls []Call, settings Settings) string {
	var out strings.Builder
	Print(&out, calls, settings)
	return out.String()
}

func TestPrintWritesTheSummaryOfThePublishedClient(t *testing.T) {
	calls := []Call{
		at(0, 10*time.Millisecond, "OK"), at(100*time.Millisecond, 130*time.Millisecond, "OK"), at(time.Second, 1050*time.Millisecond, "OK"),
		at(2*time.Second, 2*time.Second+70*time.Millisecond, "OK"),
	}
	calls[3].Number = 7
	want := `4 of 4 calculations answered in 2.07 s
requests   2.0 TPS on average, 2 at most in a second
responses  1.9 TPS on average, 2 at most in a second
latency    mean 40.000  p50 30.000  p90 70.000  p95 70.000  min 10.000  max 70.000  σ 22.361 ms
2 took longer than 40ms
  number 7, x=5, y=1, operation=add, sent at 2.000 s: 70.000 ms, OK
  number 0, x=5, y=1, operation=add, sent at 1.000 s: 50.000 ms, OK
`
	if got := summaryText(calls, Settings{Timeout: time.Minute, LatencyOver: 40 * time.Millisecond, Calculation: workload.Calculate{X: 5, Y: 1, Operation: workload.Add}}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTheSummaryCountsALostCalculationAsItsDeadline(t *testing.T) {
	answered, lost, interrupted := at(0, 10*time.Millisecond, "OK"), at(0, time.Millisecond, "UNAVAILABLE"), at(0, time.Millisecond, "CANCELLED")
	interrupted.Interrupted = true
	bounded := "latency    mean >45002.500  p50 >60000.000  p90 >60000.000  p95 >60000.000  min 10.000  max >60000.000 ms\n" +
		"           75 % of the calls were lost; each counts as its deadline (>)\n" +
		"answered   mean 10.000  p50 10.000  p90 10.000  p95 10.000  min 10.000  max 10.000  σ 0.000 ms\n" +
		"failed "
	for _, row := range []struct {
		what, want string
		calls      []Call
	}{
		{"one of four answered", bounded, []Call{answered, lost, lost, lost}},
		{"a call that an interrupt cancelled is not lost", bounded, []Call{answered, lost, lost, lost, interrupted}},
		{"none answered", "min >60000.000  max >60000.000 ms\n           100 % of the calls were lost; each counts as its deadline (>)\nfailed ", []Call{lost}},
		{"nothing is known", "at most in a second\nfailed ", []Call{interrupted}},
	} {
		if got := summaryText(row.calls, Settings{Timeout: time.Minute}); !strings.Contains(got, row.want) {
			t.Errorf("%s: got\n%swant\n%s", row.what, got, row.want)
		}
	}
	slow := summaryText([]Call{at(0, 2*time.Second, "OK"), lost}, Settings{Timeout: time.Second})
	if !strings.Contains(slow, "p90 >2000.000") {
		t.Errorf("a lost call counts as less than the slowest answer, want p90 >2000.000:\n%s", slow)
	}
}

// The last second of a load is seldom whole.
func TestTheMeanRateIsAtMostThatOfTheBusiestSecond(t *testing.T) {
	for _, row := range []struct {
		calls      int
		every      time.Duration
		mean, most float64
	}{
		{10, 50 * time.Millisecond, 10, 10},         // 0.5 s
		{11, 150 * time.Millisecond, 11 / 1.5, 7.3}, // 7 in the first second, 4 in half of the second
		{41, 50 * time.Millisecond, 20.5, 20.5},
	} {
		var calls []Call
		for i := range row.calls {
			calls = append(calls, at(time.Duration(i)*row.every, time.Duration(i)*row.every, "OK"))
		}
		s := Summarize(calls, time.Second)
		if math.Abs(s.ResponseTPS-row.mean) > 0.01 || math.Abs(s.ResponseMax-row.most) > 0.05 || s.RequestTPS > s.RequestMax {
			t.Errorf("%d calls, one every %v: %.2f per second on average and %.2f at most, want %.2f and %.2f", row.calls, row.every, s.ResponseTPS, s.ResponseMax, row.mean, row.most)
		}
	}
}

func TestTheSummaryOfNoCallsIsZero(t *testing.T) {
	if s := Summarize(nil, time.Second); s.Calls != 0 || s.Latency.Mean != 0 || s.ResponseTPS != 0 {
		t.Errorf("the summary of no calls is %+v, want zeros", s)
	}
}

func TestInvalidSettingsAreRejectedBeforeTheFirstCall(t *testing.T) {
	valid := Settings{Target: "127.0.0.1:1", Style: "bidi", Workers: 1, Transactions: 1, Client: "me", JWT: "once", Timeout: time.Second,
		Calculation: workload.Calculate{Operation: workload.Add}}
	for _, change := range []func(*Settings){
		func(s *Settings) { s.Style = "unary" }, func(s *Settings) { s.Workers = 0 }, func(s *Settings) { s.Transactions = 0 },
		func(s *Settings) { s.JWT = "never" }, func(s *Settings) { s.Client = "" }, func(s *Settings) { s.Calculation.Operation = "divide" },
		func(s *Settings) { s.Keys = "/nowhere" }, func(s *Settings) { s.Timeout = 0 }, func(s *Settings) { s.Target = "nonsense" },
		func(s *Settings) { s.Target = "http://127.0.0.1:1" }, func(s *Settings) { s.Target = ":1" }, func(s *Settings) { s.Target = "127.0.0.1:70000" },
	} {
		s := valid
		change(&s)
		if _, err := Run(t.Context(), s); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: the error is %v, want %v", s, err, ErrInvalid)
		}
	}
	calls, err := Run(t.Context(), valid)
	if err != nil || len(calls) != 1 || calls[0].Code != "UNAVAILABLE" {
		t.Errorf("without a server the calls are %+v, %v; want 1 call that is UNAVAILABLE", calls, err)
	}
}

func TestTheSummaryPrintsNoControlCharactersOfAServer(t *testing.T) {
	var out strings.Builder
	Print(&out, []Call{{Code: "INTERNAL", Message: "\x1b[2Jwrong\nnumber"}}, Settings{})
	if want := "failed     1 INTERNAL: [2Jwrong number\n"; !strings.Contains(out.String(), want) {
		t.Errorf("the summary is %q, want %q", out.String(), want)
	}
}
