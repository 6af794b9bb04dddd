package calculate

import (
	"errors"
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

func TestPrintWritesTheSummaryOfThePublishedClient(t *testing.T) {
	calls := []Call{
		at(0, 10*time.Millisecond, "OK"), at(100*time.Millisecond, 130*time.Millisecond, "OK"), at(time.Second, 1050*time.Millisecond, "OK"),
		at(2*time.Second, 2*time.Second+70*time.Millisecond, "OK"), at(2*time.Second, 2100*time.Millisecond, "UNAVAILABLE"),
	}
	calls[3].Number = 7
	var out strings.Builder
	Print(&out, calls, 40*time.Millisecond)
	want := `4 of 5 calculations answered in 2.10 s
requests   2.5 TPS on average, 2 at most in a second
responses  1.9 TPS on average, 2 at most in a second
latency    mean 40.000  p50 30.000  p90 70.000  p95 70.000  min 10.000  max 70.000  σ 22.361 ms
failed     1 UNAVAILABLE: why
3 took longer than 40ms
  number 0, sent at 2.000 s: 100.000 ms, UNAVAILABLE
  number 7, sent at 2.000 s: 70.000 ms, OK
  number 0, sent at 1.000 s: 50.000 ms, OK
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestTheSummaryOfNoCallsIsZero(t *testing.T) {
	if s := Summarize(nil); s.Calls != 0 || s.Mean != 0 || s.ResponseTPS != 0 {
		t.Errorf("the summary of no calls is %+v, want zeros", s)
	}
}

func TestInvalidSettingsAreRejectedBeforeTheFirstCall(t *testing.T) {
	valid := Settings{Target: "127.0.0.1:1", Style: "bidi", Workers: 1, Transactions: 1, Client: "me", JWT: "once", Timeout: time.Second,
		Calculation: workload.Calculate{Operation: workload.Add}}
	for _, change := range []func(*Settings){
		func(s *Settings) { s.Style = "unary" }, func(s *Settings) { s.Workers = 0 }, func(s *Settings) { s.Transactions = 0 },
		func(s *Settings) { s.JWT = "never" }, func(s *Settings) { s.Client = "" }, func(s *Settings) { s.Calculation.Operation = "divide" },
		func(s *Settings) { s.Keys = "/nowhere" }, func(s *Settings) { s.Timeout = 0 },
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
