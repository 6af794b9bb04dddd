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
		{"clusterip", "shared", 0, 1 + spareFiles},
		{"endpointslice", "shared", 0, 10 + spareFiles}, // after the scale-up
		{"clusterip", "pool", 16, 16 + spareFiles},
		{"clusterip", "per-call", 0, 2_000 + spareFiles},
		{"forwarder", "shared", 0, 6 + spareFiles}, // the forwarder's
		{"endpointslice", "per-call", 0, 20_000 + spareFiles},
		{"kuberesolver", "per-call", 0, 22_000 + spareFiles}, // and a watch for each
	} {
		config := experiment.Config{
			Route: c.route, Server: experiment.Server{Replicas: 3}, Load: experiment.Load{Burst: 2_000},
			Caller: experiment.Caller{Channel: experiment.Channel{Mode: c.mode, Pool: c.pool}},
		}
		if got, why := filesOf(config, []experiment.Event{{Scale: 10}, {Scale: 2}}); got != c.want {
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
		"for 30000 channels at once with 1 connections each; the hard limit here is 20000.\n" +
		"Raise it (ulimit -Hn, or LimitNOFILE= of a service), or make the load smaller with --set"
	if err == nil || strings.ReplaceAll(err.Error(), ",000", "000") != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
