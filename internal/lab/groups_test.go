package lab

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/caller"
	"rpclab/internal/experiment"
)

func TestArmsThatDoNotFitTogetherAreDivided(t *testing.T) {
	needs := map[string]resources{"base": {memory: 10, files: 5}, "a": {memory: 10, files: 5}, "b": {memory: 20, files: 5}, "c": {memory: 10, files: 5}, "d": {memory: 5, files: 5}}
	units := [][]string{{"a"}, {"b"}, {"c", "d"}}
	for _, c := range []struct {
		limit     resources
		want      [][]string
		limitedBy string
	}{
		{resources{}, [][]string{{"base", "a", "b", "c", "d"}}, ""},
		{resources{memory: 55, files: 25}, [][]string{{"base", "a", "b", "c", "d"}}, ""},
		{resources{memory: 54}, [][]string{{"base", "a", "b"}, {"base", "c", "d"}}, "memory"},
		{resources{memory: 35}, [][]string{{"base", "a", "c", "d"}, {"base", "b"}}, "memory"},
		{resources{memory: 30}, [][]string{{"base", "a"}, {"base", "b"}, {"base", "c", "d"}}, "memory"},
		{resources{files: 20}, [][]string{{"base", "a", "b"}, {"base", "c", "d"}}, "files"},
	} {
		groups, limitedBy, err := divide("base", units, needs, c.limit)
		if diff := cmp.Diff(c.want, groups); diff != "" || limitedBy != c.limitedBy || err != nil {
			t.Errorf("%+v: limited by %q, %v; %s", c.limit, limitedBy, err, diff)
		}
	}
	_, _, err := divide("base", units, needs, resources{memory: 29})
	var large tooLarge
	if !errors.As(err, &large) || !slices.Equal(large.arms, []string{"base", "b"}) || large.needed.memory != 30 {
		t.Errorf("the error is %v, want one on base and b", err)
	}
}

func TestArmsThatAreComparedWithEachOtherStayTogether(t *testing.T) {
	p := experiment.Plan{
		Baseline: "base", Confounds: []experiment.Confound{{Published: "a", Controlled: "d"}},
		Arms: []experiment.Arm{{Name: "a"}, {Name: "base"}, {Name: "b"}, {Name: "b-again", Control: "b"}, {Name: "d"}, {Name: "e", Against: "d"}, {Name: "base-again", Control: "base"}},
	}
	want := [][]string{{"a", "d", "e"}, {"b", "b-again"}, {"base-again"}}
	if diff := cmp.Diff(want, units(p)); diff != "" {
		t.Error(diff)
	}
}

func TestTooLittleMemoryForTwoArmsIsAnError(t *testing.T) {
	p := experiment.Plan{Design: experiment.Interleaved, Baseline: "one", Rounds: 1, Arms: []experiment.Arm{{Name: "one"}, {Name: "two"}, {Name: "three"}}}
	for i, a := range p.Arms {
		p.Trials = append(p.Trials, experiment.Trial{Order: i, Round: 1, Arm: a.Name, Config: experiment.Config{
			Route: "clusterip", Server: experiment.Server{Replicas: 1}, Load: experiment.Load{Burst: 100},
		}})
	}
	plan := Plan{Plan: p}
	for _, t0 := range p.Trials {
		plan.trials = append(plan.trials, resolved(t, t0))
	}
	_, _, err := plan.Fit(300e6, 0)
	want := "too little memory: the arms one and two need about 308 MB at the same time; 300 MB are free, and rpclab uses up to 80 % of them.\n" +
		"Stop other programs, start fewer processes with --set server.replicas=1, or add --set design=isolated, with which one arm is up at a time"
	if !errors.Is(err, ErrTooLittleMemory) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, groups, err := plan.Fit(10e9, 0); groups != nil || err != nil {
		t.Errorf("with enough memory there are groups %+v, %v", groups, err)
	}
	if _, groups, _ := plan.Fit(0, 0); groups != nil {
		t.Errorf("with unknown memory there are groups %+v", groups)
	}
}

func TestTheMemoryOfATrialCountsItsChannels(t *testing.T) {
	memory := func(channel experiment.Channel) float64 {
		return float64(memoryOf(resolved(t, experiment.Trial{Config: experiment.Config{
			Workload: experiment.Workload{Greet: &experiment.Greet{}}, Caller: experiment.Caller{Channel: channel},
			Load: experiment.Load{Closed: &experiment.Closed{Users: 4000, Duration: time.Second}},
		}})))
	}
	shared := memory(experiment.Channel{Mode: caller.Shared})
	for channel, want := range map[experiment.Channel]float64{
		{Mode: caller.PerCall}: 4000, {Mode: caller.PerUser}: 4000, {Mode: caller.Pool, Pool: 5}: 5,
	} {
		if got := 1 + (memory(channel)-shared)/memoryOfChannel; math.Abs(got-want) > 0.1 {
			t.Errorf("%+v: memory of %.1f channels, want %g", channel, got, want)
		}
	}
}
