package lab_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
)

// meddling is a cluster in which somebody else stops a backend during each load.
type meddling struct{ cluster.Cluster }

func (c meddling) Deploy(ctx context.Context, spec cluster.Spec) (cluster.Deployment, error) {
	d, err := c.Cluster.Deploy(ctx, spec)
	return meddled{d}, err
}

type meddled struct{ cluster.Deployment }

func (d meddled) ResetUsage() error {
	time.AfterFunc(300*time.Millisecond, func() { _, _ = d.Stop(context.Background(), 1) })
	return d.Deployment.ResetUsage()
}

func TestABackendThatOthersStopIsAWarning(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Cluster = meddling{o.Cluster}
	d, err := lab.Run(t.Context(), plan(t, small, experiment.Options{Rounds: 1, Arms: []string{"shared"}, Set: []string{
		"load={open: {rate: 50, duration: 2s}}",
	}}), o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(d.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "shared, round 1: backends changed during the load, but the trial has no events (removed: greeter-")
	}) {
		t.Errorf("the warnings are %q, want one about the backend that was stopped", d.Warnings)
	}
}
