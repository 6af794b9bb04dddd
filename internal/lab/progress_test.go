package lab

import (
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

// estimated is how long a plan of trials in two rounds will take, once so many ended after
// the times given, and so long into the next.
func estimated(trials []experiment.Trial, times []time.Duration, into time.Duration) time.Duration {
	for i := range trials {
		trials[i].Order = i
	}
	now := time.Unix(0, 0)
	var e durations
	p := Progress{Trial: trials[0]}
	e.add(p, now)
	for i, took := range times {
		now = now.Add(took)
		e.add(Progress{Trial: trials[i], Ended: &result.Trial{}}, now)
		if i+1 < len(trials) {
			p = Progress{Trial: trials[i+1]}
			e.add(p, now)
		} else {
			p = Progress{Trial: trials[i], Ended: &result.Trial{}}
		}
	}
	return e.left(trials, p, now.Add(into))
}

func TestTheRestOfARunIsEstimatedFromTrialsOfTheSameArmAndCell(t *testing.T) {
	burst := experiment.Config{Load: experiment.Load{Burst: 10}}
	timed := experiment.Config{Load: experiment.Load{Open: &experiment.Open{Duration: 8 * time.Second}}}
	ab := func(c experiment.Config) []experiment.Trial {
		return []experiment.Trial{{Arm: "a", Config: c}, {Arm: "b", Config: c}, {Arm: "b", Config: c}, {Arm: "a", Config: c}}
	}
	s := time.Second
	for name, test := range map[string]struct{ got, want time.Duration }{
		"nothing has ended and nobody knows":       {estimated(ab(burst), nil, s), 0},
		"loads say how long they are":              {estimated(ab(timed), nil, 2*s), 30 * s},
		"an arm that did not run is as the others": {estimated(ab(burst), []time.Duration{4 * s}, s), 11 * s},
		"arms differ":               {estimated(ab(burst), []time.Duration{4 * s, 10 * s}, s), 13 * s},
		"a trial that takes longer": {estimated(ab(burst), []time.Duration{4 * s, 10 * s, 10 * s}, 7*s), 0},
		"all is done":               {estimated(ab(burst), []time.Duration{s, s, s, s}, 0), 0},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}
