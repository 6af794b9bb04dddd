package lab

import (
	"context"
	"fmt"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/route"
)

// lookAtMesh begins to measure what the proxies use that a mesh put into pods; nil: the trial
// has none. What it returns says what they used since, or why that is not known: no reason
// to lose the rest. Proxies of pods that are gone by then are left out.
func (l *lab) lookAtMesh(ctx context.Context, c experiment.Config) func() (cluster.Usage, string) {
	way, err := route.Lookup(c.Route)
	pods, able := l.Cluster.(cluster.Meshed)
	if err != nil || way.Mesh == "" || !able {
		return nil
	}
	unknown := func(err error) (cluster.Usage, string) {
		return cluster.Usage{}, fmt.Sprintf("what the proxies of %s used is not known: %v", way.Mesh, err)
	}
	before, err := pods.Proxies(ctx, way.Mesh)
	if err != nil {
		return func() (cluster.Usage, string) { return unknown(err) }
	}
	return func() (all cluster.Usage, _ string) {
		after, err := pods.Proxies(ctx, way.Mesh)
		if err != nil {
			return unknown(err)
		}
		for pod, u := range after {
			all.CPU += max(u.CPU-before[pod].CPU, 0) // one that was started anew counts from 0
			all.MaxRSS += max(u.MaxRSS, before[pod].MaxRSS)
		}
		return all, ""
	}
}
