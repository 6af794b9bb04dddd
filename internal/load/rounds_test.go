package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service/data"
)

func TestEachRoundHasOtherRandomArrivals(t *testing.T) {
	var arrivals [][]time.Duration
	for round := range 3 {
		plan, err := with(func(s *Settings) { s.Rate, s.Poisson, s.Seed = 100, true, 7 }).ofRound(round).Pace()
		if err != nil {
			t.Fatal(err)
		}
		arrivals = append(arrivals, firstArrivals(plan))
	}
	for i, one := range arrivals {
		for _, other := range arrivals[:i] {
			if slices.Equal(one, other) {
				t.Errorf("calls of two rounds are due at %v, want other times in each round", one)
			}
		}
	}
}

// A service may refuse a name that it has seen.
func TestTheNumbersOfARoundFollowThoseOfTheRoundBefore(t *testing.T) {
	server := newSite(t, false)
	s := rest(server.URL + "/new")
	s.HTTP, s.Data, s.Metadata, s.Calls, s.Rounds = "POST", "[{{.Number}}]", []string{"token: {{.Number}}"}, 3, 2
	load, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = load.Close() })
	messages, err := data.Text("-d", []byte("{{.Number}}"))
	if err != nil {
		t.Fatal(err)
	}
	var numbers data.Numbers
	var sent []string // by grpc-go
	for round := range 2 {
		plan, err := load.Pace(round + 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := load.Client().Run(t.Context(), plan, measure.StartSignal{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := runCalls(t.Context(), pace.Sequence(3), &numbers, messages, nil, time.Minute, measure.StartSignal{}, func(_ context.Context, _ uint64, message []byte) caller.Outcome {
			sent = append(sent, string(message))
			return caller.Outcome{Code: measure.OK}
		}); err != nil {
			t.Fatal(err)
		}
	}
	seen := server.seen()
	for n := range 6 {
		if request := fmt.Sprintf("HTTP/1.1 POST %s /new %d [%d]", server.Listener.Addr(), n, n); seen[request] != 1 {
			t.Errorf("the requests are %v, want %s once", seen, request)
		}
	}
	if got := strings.Join(sent, " "); got != "0 1 2 3 4 5" {
		t.Errorf("grpc-go sends %s, want 0 to 5", got)
	}
}

func firstArrivals(plan pace.Pace) (all []time.Duration) {
	var due time.Duration
	for n := range uint64(10) {
		due, _ = plan.Next(n, due)
		all = append(all, due)
	}
	return all
}
