package dashboards

import (
	"testing"

	"rpclab/internal/testkit"
)

// TestDashboardShowsARunInProgress kills backends, and one of the two arms does not discover the new ones, so
// every panel has data.
func TestDashboardShowsARunInProgress(t *testing.T) {
	t.Setenv("RPCLAB_DATA_DIR", t.TempDir())
	at := free(t)
	w := watch(t, t.TempDir(), at)
	start(t, answers("http://"+at+"/metrics"), testkit.Rpclab(t), "run", "churn", "--quick",
		"--arms", "endpointslice,direct", "--rounds", "20", "--metrics", at)
	for _, p := range readBoard(t, "run.json").Flat() {
		for _, q := range p.Targets {
			query := q.With(nil)[0]
			testkit.AwaitFor(t, countWithin, p.Title+" has an answer to "+query, func() bool { return len(w.lately(t, query)) > 0 })
		}
	}
	testkit.AwaitFor(t, countWithin, "the arm that does not follow is seen to fail", func() bool {
		for _, s := range w.lately(t, w.find(t, "run.json", "Failed calls per second")) {
			if s.label("arm") == "direct" && s.label("code") == "UNAVAILABLE" && s.value > 0 {
				return true
			}
		}
		return false
	})
}
