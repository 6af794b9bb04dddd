package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/cluster"
)

var _ cluster.Nodes = (*deployment)(nil)

// evictionPause is the time between two attempts to evict a pod.
const evictionPause = 500 * time.Millisecond

// Cordon cordons the nodes of the n oldest ready backends until the deployment is removed. It
// affects no backend.
func (d *deployment) Cordon(ctx context.Context, n int) ([]string, error) {
	_, err := d.cordonNodes(ctx, n)
	return nil, err
}

// Drain cordons n nodes, those of the oldest ready backends first, and evicts their backends, as fast as
// PodDisruptionBudgets permit. Other pods and callers stay.
func (d *deployment) Drain(ctx context.Context, n int) ([]string, error) {
	nodes, err := d.cordonNodes(ctx, n)
	if err != nil {
		return nil, err
	}
	evicted := slices.DeleteFunc(d.active(), func(backend *replica) bool { return !slices.Contains(nodes, backend.node()) })
	return identities(evicted), inParallel(evicted, func(backend *replica) error {
		err := d.run.api.evict(ctx, d.run.namespace, backend.name, func() { backend.sample() })
		if err == nil {
			backend.expectExit()
		}
		return err
	})
}

// evict evicts a pod, and calls before first. While a PodDisruptionBudget refuses the eviction, evict does both again, as
// `kubectl drain` does.
func (a *API) evict(ctx context.Context, namespace, pod string, before func()) error {
	tick := time.NewTicker(evictionPause)
	defer tick.Stop()
	for refused := error(nil); ; {
		before()
		err := a.client.PolicyV1().Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: namespace}})
		switch {
		case apierrors.IsTooManyRequests(err):
			refused = err
		case ctx.Err() == nil || refused == nil:
			return explain(ignoreNotFound(err), namespace)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("evict pod %s before the load ended: %w\nSee `kubectl get poddisruptionbudgets -n %s`, and set a longer load", pod, refused, namespace)
		}
	}
}

// cordonNodes cordons n nodes that have backends.
func (d *deployment) cordonNodes(ctx context.Context, n int) (nodes []string, err error) {
	for _, backend := range d.active() {
		if node := backend.node(); node != "" && !slices.Contains(nodes, node) && len(nodes) < n {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) < n {
		return nil, fmt.Errorf("backends of %s are on %d nodes, %d are needed", d.name, len(nodes), n)
	}
	for _, node := range nodes {
		if err := d.run.cordons.add(ctx, node); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}
