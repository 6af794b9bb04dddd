package lab

import (
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

// estimated returns the estimate for the rest of some trials, when the first of them took the given
// times and the next trial has run for into.
func estimated(trials []experiment.Trial, times []time.Duration, into time.Duration) time.Duration {
	for i := range trials {
		trials[i].Order = i
	}
	now := time.Unix(0, 0)
	var d durations
	p := Progress{Trial: trials[0]}
	d.add(p, now)
	for i, took := range times {
		now = now.Add(took)
		d.add(Progress{Trial: trials[i], Ended: &result.Trial{}}, now)
		if i+1 < len(trials) {
			p = Progress{Trial: trials[i+1]}
			d.add(p, now)
		} else {
			p = Progress{Trial: trials[i], Ended: &result.Trial{}}
		}
	}
	return d.left(trials, p, now.Add(into))
}

func TestTheRemainingTimeIsEstimatedFromTrialsOfTheSameArmAndCell(t *testing.T) {
	burst := experiment.Config{Load: experiment.Load{Burst: 10}}
	timed := experiment.Config{Load: experiment.Load{Open: &experiment.Open{Duration: 8 * time.Second}}}
	ab := func(c experiment.Config) []experiment.Trial {
		return []experiment.Trial{{Arm: "a", Config: c}, {Arm: "b", Config: c}, {Arm: "b", Config: c}, {Arm: "a", Config: c}}
	}
	s := time.Second
	for name, test := range map[string]struct{ got, want time.Duration }{
		"nothing has ended and loads have no duration":       {estimated(ab(burst), nil, s), 0},
		"loads have a duration":                              {estimated(ab(timed), nil, 2*s), 30 * s},
		"an arm without a trial takes as long as the others": {estimated(ab(burst), []time.Duration{4 * s}, s), 11 * s},
		"arms differ":                            {estimated(ab(burst), []time.Duration{4 * s, 10 * s}, s), 13 * s},
		"a trial takes longer than the estimate": {estimated(ab(burst), []time.Duration{4 * s, 10 * s, 10 * s}, 7*s), 0},
		"all trials have ended":                  {estimated(ab(burst), []time.Duration{s, s, s, s}, 0), 0},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}

func TestReportsOfOneTrialDoNotEstimateAllLaterTrialsAgain(t *testing.T) {
	trials := make([]experiment.Trial, 1000)
	for i := range trials {
		trials[i] = experiment.Trial{Order: i, Arm: "a", Cell: map[string]any{"load.burst": i}}
	}
	now := time.Unix(0, 0)
	var d durations
	d.all.add(time.Second)
	p := Progress{Trial: trials[0]}
	if got := d.left(trials, p, now); got != time.Duration(len(trials)-1)*time.Second {
		t.Errorf("%d trials of 1 s, the first at its end, take %s", len(trials), got)
	}
	if n := testing.AllocsPerRun(10, func() { d.left(trials, p, now) }); n > 100 {
		t.Errorf("a second report of a trial allocates %.0f times for %d trials", n, len(trials))
	}
}
