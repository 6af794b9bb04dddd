package workload

import (
	"errors"
	"math"
	"testing"
	"time"
)

// weightAfter returns the weight that clients compute (gRFC A58) after three seconds of calls. Each
// user makes one call after the other.
func weightAfter(users int, took time.Duration) float64 {
	var report loadReport
	var mean, rate float64
	now := time.Unix(0, 0)
	for range users {
		report.begin(now)
	}
	for end := now.Add(3 * time.Second); now.Before(end); {
		now = now.Add(took)
		for range users {
			mean, rate, _ = report.end(now, nil)
		}
		for range users {
			report.begin(now)
		}
	}
	return rate / mean
}

func TestTheWeightIsTheInverseOfTheCallDuration(t *testing.T) {
	for _, users := range []int{1, 8} {
		for _, took := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
			// The newest call has full weight, so with few calls the weight is up to a tenth too large.
			if got, want := weightAfter(users, took), 1/took.Seconds(); math.Abs(got/want-1) > 0.12 {
				t.Errorf("%d users, %v a call: the weight is %.1f, want %.1f within 12 %%", users, took, got, want)
			}
		}
	}
}

func TestALoadReportDecays(t *testing.T) {
	var report loadReport
	now := time.Unix(0, 0)
	for range 100 {
		report.begin(now)
		report.end(now.Add(time.Millisecond), errors.New("failed"))
	}
	report.begin(now.Add(time.Minute))
	_, rate, failed := report.end(now.Add(time.Minute), nil)
	if want := 1 / loadWindow.Seconds(); math.Abs(rate-want) > 0.01 || failed > 0.01 {
		t.Errorf("the report says %.2f calls/s and %.2f failed calls/s, want %.2f and 0 as of the last call only", rate, failed, want)
	}
}
