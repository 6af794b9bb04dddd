package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

func TestTheNumberOfCallersThatShareALoadIsNamed(t *testing.T) {
	shared := func(starts ...float64) result.Trial {
		var t result.Trial
		for _, at := range starts {
			t.Callers = append(t.Callers, result.Caller{StartMS: at})
		}
		return t
	}
	for want, trials := range map[string][]result.Trial{
		"": {shared()},
		"2 callers share each load; they started within 3.50 ms of each other.":      {shared(0.5, 4), shared(1, 1.5)},
		"1 to 3 callers share each load; they started within 0.20 ms of each other.": {shared(), shared(0, 0.1, 0.2)},
	} {
		var p page
		var arms []result.Arm
		for _, trial := range trials {
			arms = append(arms, result.Arm{Trials: []result.Trial{trial}})
		}
		callers(&p, result.Document{Arms: arms})
		var text strings.Builder
		if err := writeTerminal(&text, p, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(text.String()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
