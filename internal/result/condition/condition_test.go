package condition_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	"rpclab/internal/result"
	"rpclab/internal/result/condition"
	"rpclab/internal/result/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func measured() result.Measures {
	return result.Measures{
		Calls: 990, Dropped: 10, Rate: 500, Window: &result.Window{AnsweredRate: 490},
		Errors:   map[string]uint64{"UNAVAILABLE": 3, "DEADLINE_EXCEEDED": 2},
		Latency:  result.Histogram{Min: 1, Mean: 12, P50: 10, P90: 20, P95: 30, P99: 61, P999: 80, Max: 99},
		Service:  result.Histogram{P99: 55},
		Lateness: result.Histogram{P99: 0.15},
		Messages: &result.Histogram{P50: 2},
	}
}

func check(t *testing.T, text string) []string {
	t.Helper()
	a, err := condition.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return a.Check(measured())
}

func TestAMetAssertionReportsNothing(t *testing.T) {
	for _, text := range []string{
		"p99 < 70ms", "p99<=61ms", "p50 == 10ms", "p999 != 0", "max < 0.1s", "min >= 1000us",
		"service_p99 < 61ms", "latency_p99 > 60ms", "lateness_p99 < 200us", "message_p50 == 2ms",
		"rate >= 490/s", "rate == 490", "calls == 990", "errors == 15", "errors.UNAVAILABLE <= 3",
		"errors.CANCELLED == 0", "errors.HTTP_503 == 0", "errors.CHECK == 0", "errors.CLIENT_EXITED == 0", "errors.INVALID_RESPONSE == 0", "errors < 2%", "dropped <= 1%", "dropped > 0.9 %",
		"errors >= 0", "errors <= 100%", "errors < 100%", "dropped != 1e3", "p50 > 0", "errors.HTTP_400 == 0", "errors.HTTP_599 == 0",
		"p99 < 70ms && errors < 20 && rate > 1", "p99 < 70ms and errors < 20 and rate>1",
	} {
		if failed := check(t, text); failed != nil {
			t.Errorf("%s failed: %q", text, failed)
		}
	}
}

func TestAFailedAssertionReportsByHowMuch(t *testing.T) {
	for text, want := range map[string]string{
		"p99 < 50ms":              "p99 < 50ms: it is 61ms, 22 % more",
		"p50<4ms":                 "p50<4ms: it is 10ms, 2.5 times as much",
		"p50 < 7us":               "p50 < 7us: it is 10ms, 1429 times as much",
		"lateness_p99 < 100us":    "lateness_p99 < 100us: it is 150µs, 50 % more",
		"errors == 0":             "errors == 0: it is 15",
		"errors.UNAVAILABLE != 3": "errors.UNAVAILABLE != 3: it is 3",
		"errors < 0.1%":           "errors < 0.1%: it is 15 of 1000, 1.5 %, 15 times as much",
		"rate >= 1000/s":          "rate >= 1000/s: it is 490.0/s of successful calls, 51 % less",
	} {
		if failed := check(t, text); len(failed) != 1 || failed[0] != want {
			t.Errorf("%s reports %q\nwant %q", text, failed, want)
		}
	}
	if failed := check(t, "p99 < 1ms && calls > 0 && errors == 0"); len(failed) != 2 {
		t.Errorf("two of three conditions fail, but the report is %q", failed)
	}
}

func TestALatencyWithoutAnsweredCallsFails(t *testing.T) {
	a, err := condition.Parse("p99 < 50ms")
	if err != nil {
		t.Fatal(err)
	}
	failed := a.Check(result.Measures{Calls: 3, Errors: map[string]uint64{"UNAVAILABLE": 3}})
	if len(failed) != 1 || !strings.Contains(failed[0], "no call was answered") {
		t.Errorf("the report is %q, want that no call was answered", failed)
	}
}

func TestAMessageLatencyWithoutStreamsFails(t *testing.T) {
	a, err := condition.Parse("message_p50 < 50ms")
	if err != nil {
		t.Fatal(err)
	}
	if failed := a.Check(result.Measures{Calls: 3}); len(failed) != 1 || !strings.Contains(failed[0], "no message came on a stream") {
		t.Errorf("the report is %q, want that no message came on a stream", failed)
	}
}

func TestErrorsOfInvalidAssertionsNameTheColumn(t *testing.T) {
	for text, want := range map[string]string{
		"p98 < 50ms":               `"p98 < 50ms", column 1: no metric "p98"; did you mean "p90"?`,
		"p99 = 50ms":               `"p99 = 50ms", column 5: after p99 write one of < <= > >= == !=`,
		"p99":                      `"p99", column 4: after p99 write one of`,
		"p99 < 50":                 `"p99 < 50", column 7: "50" has no unit: write a duration such as 50ms or 1.5s`,
		"p99 < ":                   `column 6: "" is not a duration`,
		"errors == none":           `"errors == none", column 11: "none" is not a number: write one such as 0 or 0.1%`,
		"rate > 5ms":               `"rate > 5ms", column 8: "5ms" is not a number: write one such as 950 or 950/s`,
		"rate > NaN":               `"NaN" is not a number`,
		"errors == 0 && lat < 3ms": `"errors == 0 && lat < 3ms", column 16: no metric "lat"`,
		"errors == 0 &&":           `column 15: a metric is missing`,
		"errors == 0 and lat < 1s": `column 17: no metric "lat"`,
		"errors == 0 andp50 < 1s":  `column 11: "0 andp50 < 1s" is not a number`,
		"p99 ratio < 1.05":         `"p99 ratio < 1.05", column 5: a ratio needs two arms or two runs: test it with --gate 'p99 ratio < 1.05'`,
		"errors. == 0":             `column 1: no error code ""; known names: CANCELLED, `,
		"errors.UNIMPLEMENTD == 0": `column 1: no error code "UNIMPLEMENTD"; did you mean "UNIMPLEMENTED"?`,
		"errors.HTTP_99 == 0":      `column 1: no error code "HTTP_99"`,
		"errors.HTTP_302 == 0":     `column 1: no error code "HTTP_302": a response with that status is no error`,
		"errors.HTTP_600 == 0":     `column 1: no error code "HTTP_600": the statuses of HTTP are 100 to 599`,
		"errors.HTTP_0 == 0":       `column 1: no error code "HTTP_0": the statuses of HTTP are 100 to 599`,
		"errors.HTTP_1000 == 0":    `column 1: no error code "HTTP_1000": the statuses of HTTP are 100 to 599`,
		"errors.HTTP_999 == 0":     `column 1: no error code "HTTP_999": the statuses of HTTP are 100 to 599`,
		"errors < 150%":            `"errors < 150%", column 10: "150%" is over 100 %, all calls: write a share of the calls such as 0.1%`,
		"dropped <= 100.1%":        `column 12: "100.1%" is over 100 %`,
		"errors < -1%":             `column 10: "-1%" is below 0, which no number of calls is: write one such as 0 or 0.1%`,
		"errors.INTERNAL > -1":     `column 19: "-1" is below 0, which no number of calls is`,
		"errors <= 0.05":           `column 11: "0.05" is no whole number of calls: write one such as 5, or a share of the calls such as 5%`,
		"calls == 100.5":           `column 10: "100.5" is no whole number of calls`,
		"p99 < -5ms":               `column 7: "-5ms" is below 0, which no duration is: write one such as 50ms or 1.5s`,
		"lateness_p99 >= -1us":     `column 17: "-1us" is below 0, which no duration is`,
		"rate >= -1/s":             `column 9: "-1/s" is below 0, which no rate is: write one such as 950 or 950/s`,
		"errors < 0":               `column 10: no value is below 0: write == 0`,
		"errors < 0%":              `column 10: no value is below 0: write == 0`,
		"p50 < 0":                  `column 7: no value is below 0: write a limit above 0`,
		"errors > 100%":            `column 10: no share is over 100 %: write == 100%`,
		"errors.CODE_5 == 0":       `column 1: no error code "CODE_5"; known names: NOT_FOUND`,
		"errors.CODE_16 == 0":      `no error code "CODE_16"; known names: UNAUTHENTICATED`,
		"errors.OK == 0":           `column 1: no error code "OK"`,
		"errors.CHEK == 0":         `column 1: no error code "CHEK"; did you mean "CHECK"?`,
		"errors.TOO_FEW == 0":      `column 1: no error code "TOO_FEW"; known names: CANCELLED, `,
	} {
		_, err := condition.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error of %s is %v\nwant %s", text, err, want)
		}
	}
}

// Calls that failed with further codes count together, so any other code may have more calls than are counted.
func TestTheCountOfACodeIsALowerBoundIfThereAreTooMany(t *testing.T) {
	m := measured()
	m.Errors[failure.OtherCodes] = 4
	const others = ", since 4 calls failed with one of more than 100 codes, and count as OTHERS"
	for text, want := range map[string]string{
		"errors.OTHERS == 4":      "",
		"errors.OTHERS == 0":      "errors.OTHERS == 0: it is 4",
		"errors.INTERNAL == 0":    "errors.INTERNAL == 0: it is at least 0" + others,
		"errors.UNAVAILABLE <= 3": "errors.UNAVAILABLE <= 3: it is at least 3" + others,
		"errors.UNAVAILABLE >= 3": "",
		"errors < 20":             "",
	} {
		reports(t, m, text, want)
	}
	m.Errors[failure.OtherCodes] = 0
	reports(t, m, "errors.INTERNAL == 0", "")
}

// A client of the user's names its errors as it likes, in the form that rpclab reads.
func TestCodesOfOwnClientsHaveAForm(t *testing.T) {
	m := measured()
	m.Errors["TOO_FEW"] = 2
	for text, want := range map[string]string{
		"errors.TOO_FEW == 2":     "",
		"errors.TOO_FEW == 0":     "errors.TOO_FEW == 0: it is 2",
		"errors.UNAVAILABLE == 3": "",
		"errors.too_few == 0":     `column 1: no error code "too_few": write capital letters, digits and _, as the client does`,
		"errors.unavailable == 0": `column 1: no error code "unavailable"; did you mean "UNAVAILABLE"?`,
		"errors.UNAVAILBLE == 0":  `no error code "UNAVAILBLE"; did you mean "UNAVAILABLE"?`,
		"errors.CANCELED == 0":    `no error code "CANCELED"; did you mean "CANCELLED"?`,
		"errors.HTTP_50 == 0":     `no error code "HTTP_50"; did you mean "HTTP_500"?`,
		"errors.HTTP_599 == 0":    "",
		"errors.HTTP_302 == 0":    "",
		"errors.CODE_5 == 0":      "",
		"errors.INTERNAL_2 == 0":  "",
		"errors.OK == 0":          `column 1: no error code "OK"`,
		"p98 < 50ms":              `no metric "p98"; did you mean "p90"?`,
	} {
		c, err := condition.ParseOwnCodes(text)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = strings.Join(c.Check(m), "; ")
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestParseAcceptsAnyTextWithoutPanicking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z0-9_.&<>=!% /-]{0,20}`).Draw(t, "text")
		if a, err := condition.Parse(text); err == nil {
			a.Check(measured())
		}
		_, _ = condition.ParseRatios(text, []string{"p50", "rate"})
	})
}

// reports checks a condition on measures: its report contains what is wanted, and is empty if that is.
func reports(t *testing.T, m result.Measures, text, want string) {
	t.Helper()
	c, err := condition.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(c.Check(m), "; ")
	if (got == "") != (want == "") || !strings.Contains(got, want) {
		t.Errorf("%s reports %q, want %q", text, got, want)
	}
}

// 99 of 100 calls failed, and the other one took 1 ms.
func TestLostCallsFailEveryUpperLimit(t *testing.T) {
	h := hdr.NewPacked(1, 3_600_000_000_000, 3)
	if err := h.RecordValue(1e6); err != nil {
		t.Fatal(err)
	}
	answered := result.FromHDR(h)
	latency, err := answered.CountLost(99, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	m := result.Measures{
		Calls: 100, Errors: map[string]uint64{"UNAVAILABLE": 99}, Rate: 50, Latency: latency, AnsweredLatency: &answered, Service: answered, Messages: &answered,
	}
	for text, want := range map[string]string{
		"p50 < 150ms":  "p50 < 150ms: it is over 20s",
		"p95 <= 1m":    "since 99 % of the calls were lost",
		"mean < 1m":    "since 99 % of the calls were lost",
		"max == 20s":   "since 99 % of the calls were lost",
		"p50 > 30s":    "p50 > 30s: it is over 20s",
		"p50 > 1s":     "",
		"p999 >= 20s":  "",
		"min < 2ms":    "",
		"min > 2ms":    "min > 2ms: it is 1ms, 50 % less",
		"max != 1m40s": "since 99 % of the calls were lost",

		"service_p95 < 150ms":  "service_p95 < 150ms: it is over 1ms, since 99 % of the calls were lost",
		"service_mean < 150ms": "since 99 % of the calls were lost",
		"service_p95 > 0.5ms":  "",
		"service_min < 2ms":    "",
		"message_p50 < 150ms":  "since 99 % of the calls were lost",
		"message_min < 2ms":    "",
		"rate >= 50/s":         "rate >= 50/s: it is 0.5/s of successful calls, 99 % less",
		"rate >= 0.4/s":        "",
	} {
		reports(t, m, text, want)
	}
}

// A call that was due and not sent is no success.
func TestDroppedCallsAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"errors < 0.1%":           "errors < 0.1%: it is 9614 of 10000, 96.1 %, 961 times as much",
		"errors == 0":             "errors == 0: it is 9614",
		"errors.UNAVAILABLE == 0": "",
		"dropped < 10000":         "",
	} {
		c, err := condition.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Check(result.Measures{Calls: 386, Dropped: 9614}), "; "); got != want {
			t.Errorf("%s reports %q, want %q", text, got, want)
		}
	}
}

// Of 100 calls that were due, 45 were sent 1 ms late, 15 20 ms late, and 40 were dropped.
func TestADroppedCallIsLaterThanEveryCallThatWasSent(t *testing.T) {
	h := hdr.NewPacked(1, 3_600_000_000_000, 3)
	if err := errors.Join(h.RecordValues(1e6, 45), h.RecordValues(20e6, 15)); err != nil {
		t.Fatal(err)
	}
	m := result.Measures{Calls: 60, Dropped: 40, Errors: map[string]uint64{"UNAVAILABLE": 30}, Lateness: result.FromHDR(h)}
	for text, want := range map[string]string{
		"lateness_p50 < 5ms":    "lateness_p50 < 5ms: it is 20.005ms, 4 times as much", // 1 ms of the calls that were sent
		"lateness_min < 2ms":    "",
		"lateness_p90 < 1h":     "lateness_p90 < 1h: it is over 20ms, since 40 % of the calls were dropped",
		"lateness_mean < 1h":    "since 40 % of the calls were dropped",
		"lateness_p90 > 10ms":   "",
		"lateness_p999 == 20ms": "since 40 % of the calls were dropped",
	} {
		reports(t, m, text, want)
	}
	c, err := condition.Parse("lateness_p50 < 1h")
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]result.Measures{
		"all dropped":      {Dropped: 3},
		"only the summary": {Calls: 1, Dropped: 2, Lateness: result.Histogram{P50: 1}},
	} {
		if failed := c.Check(m); len(failed) != 1 || !strings.HasSuffix(failed[0], "% of the calls were dropped") {
			t.Errorf("%s: the report is %q", name, failed)
		}
	}
}

// A lost call has no service time. With 4 % of them, p95 is the slowest of the successful calls.
func TestLostCallsCountInPercentilesOfWhatWasAnswered(t *testing.T) {
	h := hdr.NewPacked(1, 3_600_000_000_000, 3)
	if err := errors.Join(h.RecordValues(1e6, 94), h.RecordValues(5e9, 2)); err != nil {
		t.Fatal(err)
	}
	answered := result.FromHDR(h)
	m := result.Measures{
		Calls: 100, Errors: map[string]uint64{"UNAVAILABLE": 4}, Latency: result.Histogram{Lost: 0.04}, Service: answered, Messages: &answered,
	}
	for text, want := range map[string]string{
		"service_p90 < 2ms":   "",
		"service_p95 < 150ms": "with lost calls as the slowest", // p95 of the successful calls is 1 ms
		"service_p95 > 4s":    "",
		"service_p99 < 1h":    "since 4 % of the calls were lost",
		"service_min < 2ms":   "",
		"message_p95 < 150ms": "with lost calls as the slowest",
	} {
		reports(t, m, text, want)
	}
	m.Latency.Lost, m.Errors["UNAVAILABLE"] = 1, 100 // streams that failed after their first responses
	reports(t, m, "message_p50 < 1h", "since 100 % of the calls were lost")
}

// Without the values of a histogram it is not known which call is at a percentile.
func TestFewLostCallsLeaveLowerPercentilesOfASummaryAsTheyAre(t *testing.T) {
	m := measured()
	answered := m.Latency
	m.Latency.Lost, m.Service, m.Messages = 0.02, answered, &answered
	for text, holds := range map[string]bool{
		"service_p95 <= 30ms": true, "service_p99 <= 61ms": false, "service_max < 1s": false, "service_p99 >= 60ms": true,
		"message_p95 <= 30ms": true, "message_p99 <= 61ms": false,
	} {
		c, err := condition.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if failed := c.Check(m); (failed == nil) != holds {
			t.Errorf("%s with 2 %% of the calls lost reports %q; holds: %v", text, failed, holds)
		}
	}
}

func TestErrorCodesAreThoseOfGRPC(t *testing.T) {
	for _, name := range []string{"CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
		"FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"} {
		var code codes.Code
		if err := code.UnmarshalJSON([]byte(strconv.Quote(name))); err != nil {
			t.Errorf("gRPC does not know %s: %v", name, err)
		}
		if _, err := condition.Parse("errors." + name + " == 0"); err != nil {
			t.Error(err)
		}
	}
}

// A gate on errors does not hold because no call was made.
func TestNothingMeasuredMeetsNoAssertion(t *testing.T) {
	for _, text := range []string{"errors == 0", "errors < 1%", "errors.INTERNAL == 0", "dropped == 0", "rate < 5"} {
		a, err := condition.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := a.Check(result.Measures{}), text+": nothing was measured"; len(got) != 1 || got[0] != want {
			t.Errorf("%s of no calls: %q, want %q", text, got, want)
		}
	}
}
