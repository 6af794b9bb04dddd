package lab

import (
	"strings"
	"testing"

	"rpclab/internal/experiment"
)

func TestFilesThatOneProcessNeeds(t *testing.T) {
	for _, c := range []struct {
		route, mode string
		pool, want  int
	}{
		{"clusterip", "shared", 0, 3 + spareFiles},
		{"clusterip", "pool", 16, 48 + spareFiles},
		{"clusterip", "per-call", 0, 10_000 + spareFiles},
		{"kuberesolver", "per-call", 0, 20_000 + spareFiles}, // and a watch for each
	} {
		config := experiment.Config{
			Route: c.route, Server: experiment.Server{Replicas: 3}, Load: experiment.Load{Burst: 10_000},
			Caller: experiment.Caller{Channel: experiment.Channel{Mode: c.mode, Pool: c.pool}},
		}
		if got, why := filesOf(config); got != c.want {
			t.Errorf("%s, %s: %d (%s), want %d", c.route, c.mode, got, why, c.want)
		}
	}
}

func TestTheErrorSaysHowManyFilesAndWhy(t *testing.T) {
	plan := experiment.Plan{Trials: []experiment.Trial{{Arm: "mine", Config: experiment.Config{
		Route: "clusterip", Load: experiment.Load{Burst: 30_000},
		Caller: experiment.Caller{Channel: experiment.Channel{Mode: "per-call"}},
	}}}}
	err := checkFiles(plan, 20_000)
	want := "too few open files: arm mine (burst of 30000) needs 30064 in one process, " +
		"a connection for each of 30000 calls at once; the hard limit here is 20000.\n" +
		"Raise it (ulimit -Hn, or LimitNOFILE= of a service), or make the load smaller with --set"
	if err == nil || strings.ReplaceAll(err.Error(), ",000", "000") != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
