package telemetry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAQueueKeepsTheOrderAndRepeatsTemporaryFailures(t *testing.T) {
	t.Parallel()
	q, failures := NewQueue(), 2
	var sent []string
	q.Add(func(context.Context) error {
		if failures > 0 {
			failures--
			return Temporary{Reason: errors.New("busy")}
		}
		sent = append(sent, "first")
		return nil
	})
	q.Add(func(context.Context) error { return errors.New("400 Bad Request") })
	q.Add(func(context.Context) error { sent = append(sent, "last"); return nil })
	err := q.Close()
	if !slices.Equal(sent, []string{"first", "last"}) {
		t.Errorf("sent %v, want first and last", sent)
	}
	if err == nil || err.Error() != "1 of 3 requests failed: 400 Bad Request" {
		t.Errorf("the error is %v", err)
	}
}

// The receiver never answers: Close must return all the same, and the run must not wait for it.
func TestAQueueEndsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	q := NewQueue()
	q.closing = 10 * time.Millisecond
	silent := func(ctx context.Context) error { <-ctx.Done(); return Temporary{Reason: ctx.Err()} }
	for range mostWaiting + 10 {
		q.Add(silent)
	}
	err := q.Close()
	if err == nil || !strings.Contains(err.Error(), "requests failed: ") || !errors.Is(err, errNoTime) || !errors.Is(err, errFull) {
		t.Errorf("the error is %v, want that there was no time and no room", err)
	}
}

func TestTheErrorBeforeTheEndSaysWhy(t *testing.T) {
	t.Parallel()
	q := NewQueue()
	q.closing = 10 * time.Millisecond
	tried := make(chan struct{}, 1)
	q.Add(func(context.Context) error {
		select {
		case tried <- struct{}{}:
		default:
		}
		return Temporary{Reason: errors.New("connection refused")}
	})
	q.Add(func(context.Context) error { return nil })
	<-tried
	if err := q.Close(); err == nil || err.Error() != "2 of 2 requests failed: connection refused" {
		t.Errorf("the error is %v", err)
	}
}
