package workload

import (
	"errors"
	"math"
	"testing"
	"time"
)

// weigh is the weight that clients compute (gRFC A58) after three seconds in which so many
// users made calls that took so long, one after the other.
func weigh(users int, took time.Duration) float64 {
	var l loadReport
	var mean, rate float64
	now := time.Unix(0, 0)
	for range users {
		l.begin(now)
	}
	for end := now.Add(3 * time.Second); now.Before(end); {
		now = now.Add(took)
		for range users {
			mean, rate, _ = l.end(now, nil)
		}
		for range users {
			l.begin(now)
		}
	}
	return rate / mean
}

func TestAWeightIsOneOverTheTimeOfACall(t *testing.T) {
	for _, users := range []int{1, 8} {
		for _, took := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
			// The newest call counts whole, so that few of them weigh up to a tenth too much.
			if got, want := weigh(users, took), 1/took.Seconds(); math.Abs(got/want-1) > 0.12 {
				t.Errorf("%d users, %v a call: weight %.1f, want %.1f", users, took, got, want)
			}
		}
	}
}

func TestALoadReportDecays(t *testing.T) {
	var l loadReport
	now := time.Unix(0, 0)
	for range 100 {
		l.begin(now)
		l.end(now.Add(time.Millisecond), errors.New("failed"))
	}
	l.begin(now.Add(time.Minute))
	_, rate, failed := l.end(now.Add(time.Minute), nil)
	if want := 1 / loadWindow.Seconds(); math.Abs(rate-want) > 0.01 || failed > 0.01 {
		t.Errorf("%.2f calls a second, %.2f failed; want the last alone, %.2f and none", rate, failed, want)
	}
}
