package lab

import (
	"context"
	"errors"
	"testing"
	"time"

	"rpclab/internal/cluster"
)

// meshed is a cluster whose proxies used so much by each look.
type meshed struct {
	cluster.Cluster
	looks []map[string]cluster.Usage
}

func (m *meshed) ProxyUsage(context.Context, string) (map[string]cluster.Usage, error) {
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
	c := &meshed{looks: []map[string]cluster.Usage{
		{"kept": used(10, 200), "gone": used(3, 50), "anew": used(9, 10)},
		{"kept": used(12, 100), "new": used(1, 30), "anew": used(1, 20)},
	}}
	since := recordMeshUsage(t.Context(), c, "linkerd")
	if all, unknown := since(); all.CPU != 3*time.Second || all.MaxRSS != 250 || unknown != "" {
		t.Errorf("%+v, unknown: %q", all, unknown)
	}
	if recordMeshUsage(t.Context(), c, "") != nil {
		t.Error("a route without a mesh waits for its proxies")
	}
}

func TestWhatCannotBeKnownComesWithItsReason(t *testing.T) {
	_, unknown := recordMeshUsage(t.Context(), &meshed{}, "istio")()
	if want := "the usage of the proxies of istio is not known: nodes/proxy is forbidden"; unknown != want {
		t.Errorf("%q, want %q", unknown, want)
	}
}
