package analysis

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

// A server that refuses many requests receives more of them than there are calls.
func TestManyRequestsThatAreSentAgainAreAWarning(t *testing.T) {
	for again, want := range map[int]string{
		0:   "",
		10:  "", // as when a server closes a connection
		250: "a: servers refused 250 requests (25 % of the calls)",
	} {
		calls := sent(1000, 0, ms)
		for i := range again {
			calls[i].Resent = 1
		}
		arm := result.Arm{Name: "a", Trials: []result.Trial{openTrial(t, 1, calls, 0)}}
		d := Assemble(result.Document{Arms: []result.Arm{arm}})
		got := ""
		for _, warning := range d.Warnings {
			if strings.Contains(warning, "refused") {
				got = warning
			}
		}
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) || d.Arms[0].Resent != uint64(again) {
			t.Errorf("%d requests sent again: the warning is %q, want %q; the arm has %d", again, got, want, d.Arms[0].Resent)
		}
	}
}
