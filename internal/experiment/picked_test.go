package experiment

import (
	"strings"
	"testing"
)

// A setting that does not fit an arm is no error in a run of other arms.
func TestOnlyPickedArmsMustFitTheSettings(t *testing.T) {
	doc := []byte(`experiment: x
question: Which?
defaults: {workload: {fibonacci: {from: 1, to: 50}}, route: direct, load: {sequence: 10}}
arms:
  low: {}
  high: {workload: {fibonacci: {from: 40, to: 50}}}
`)
	for _, c := range []struct {
		arms []string
		want string
	}{
		{[]string{"low"}, ""},
		{[]string{"high"}, "workload.fibonacci: from is 40, more than to, 10"},
		{nil, "workload.fibonacci: from is 40, more than to, 10"},
	} {
		_, err := Expand("x.yaml", doc, Options{Arms: c.arms, Set: []string{"workload.fibonacci.to=10"}}, vocabulary)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("with the arms %q the error is %v, want %q", c.arms, err, c.want)
		}
	}
}

// The first look of a run is as early as its own arms can have verdicts.
func TestArmsThatAreNotPickedDelayNoLook(t *testing.T) {
	doc := []byte(`experiment: x
question: Which?
design: interleaved
headline: [p99]
rounds: 2
defaults: {workload: {fibonacci: {from: 1, to: 50}}, route: direct, load: {open: {rate: 1000, duration: 2s}}}
arms:
  one: {}
  two: {}
  few: {load: {open: {rate: 50, duration: 2s}}}
  burst: {load: {burst: 2000}}
`)
	for _, c := range []struct {
		arms  []string
		first int
	}{
		{[]string{"one", "two"}, 2},
		{[]string{"one", "burst"}, 4},
		{[]string{"one", "few"}, 40},
		{nil, 40},
	} {
		p, err := Expand("x.yaml", doc, Options{Arms: c.arms, UntilDecided: true, MaxRounds: 100}, vocabulary)
		if err != nil || p.Looks[0] != c.first {
			t.Errorf("with the arms %q the looks are %v (%v), want the first after %d rounds of 2,000, 2,000, 100 and 2,000 calls", c.arms, p.Looks, err, c.first)
		}
	}
}
