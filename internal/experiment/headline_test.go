package experiment

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePlanHasTheHeadlineThatItsLoadsAllow(t *testing.T) {
	const search = "load={search: {slo: p99 < 50ms, from: 10, to: 1000, duration: 1s}}"
	for name, c := range map[string]struct {
		doc  string
		set  []string
		want []string
	}{
		"none":                      {head, nil, []string{"p50", "p99"}},
		"in its order":              {withHead("headline: [p99, failed]"), nil, []string{"p99", "failed"}},
		"a search":                  {head, []string{search}, []string{"capacity"}},
		"latencies of a search":     {withHead("headline: [p50, client_cpu]"), []string{search}, []string{"client_cpu"}},
		"latencies alone":           {withHead("headline: [p50, p99]"), []string{search}, []string{"capacity"}},
		"capacity without a search": {withHead("headline: [capacity]"), nil, []string{"p50", "p99"}},
		"set":                       {head, []string{"headline=[elapsed]"}, []string{"elapsed"}},
	} {
		p, err := Expand("x.yaml", []byte(c.doc), Options{Set: c.set}, vocabulary)
		if diff := cmp.Diff(c.want, p.Headline); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}
