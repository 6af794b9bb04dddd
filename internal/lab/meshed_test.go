package lab

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
)

// meshed is a cluster whose proxies used so much by each look.
type meshed struct {
	cluster.Cluster
	looks []map[string]cluster.Usage
}

func (m *meshed) Proxies(context.Context, string) (map[string]cluster.Usage, error) {
	if len(m.looks) == 0 {
		return nil, errors.New("nodes/proxy is forbidden")
	}
	look := m.looks[0]
	m.looks = m.looks[1:]
	return look, nil
}

func TestProxiesOfAMeshUsedWhatTheirNodesSawMeanwhile(t *testing.T) {
	used := func(cpu time.Duration, memory uint64) cluster.Usage {
		return cluster.Usage{CPU: cpu * time.Second, MaxRSS: memory}
	}
	l := &lab{Options: Options{Cluster: &meshed{looks: []map[string]cluster.Usage{
		{"kept": used(10, 200), "gone": used(3, 50), "anew": used(9, 10)},
		{"kept": used(12, 100), "new": used(1, 30), "anew": used(1, 20)},
	}}}}
	since := l.lookAtMesh(t.Context(), experiment.Config{Route: "linkerd"})
	if all, unknown := since(); all.CPU != 3*time.Second || all.MaxRSS != 250 || unknown != "" {
		t.Errorf("%+v, unknown: %q", all, unknown)
	}
	if l.lookAtMesh(t.Context(), experiment.Config{Route: "clusterip"}) != nil {
		t.Error("a route without a mesh waits for its proxies")
	}
}

func TestWhatCannotBeKnownIsOneWarningWithItsReason(t *testing.T) {
	l := &lab{Options: Options{Cluster: &meshed{}}}
	_, unknown := l.lookAtMesh(t.Context(), experiment.Config{Route: "istio"})()
	if want := "what the proxies of istio used is not known: nodes/proxy is forbidden"; unknown != want {
		t.Errorf("%q, want %q", unknown, want)
	}
	d := arms(t, 20, 20, 20, 20)
	for i := range d.Arms[1].Trials {
		d.Arms[1].Trials[i].Unknown = unknown
	}
	said := slices.DeleteFunc(Assemble(d).Warnings, func(w string) bool { return !strings.Contains(w, unknown) })
	if len(said) != 1 {
		t.Errorf("said %d times: %q", len(said), said)
	}
}
