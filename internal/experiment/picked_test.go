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
