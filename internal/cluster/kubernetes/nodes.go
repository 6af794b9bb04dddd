package kubernetes

import (
	"context"
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/cluster"
)

var _ cluster.Nodes = (*deployment)(nil)

// Cordon cordons the nodes of the n oldest ready backends until the deployment is removed. It
// affects no backend.
func (d *deployment) Cordon(ctx context.Context, n int) ([]string, error) {
	_, err := d.cordonNodes(ctx, n)
	return nil, err
}

// Drain cordons n nodes, those of the oldest ready backends first, and evicts their backends.
// Other pods and callers stay.
func (d *deployment) Drain(ctx context.Context, n int) ([]string, error) {
	nodes, err := d.cordonNodes(ctx, n)
	if err != nil {
		return nil, err
	}
	evicted := slices.DeleteFunc(d.active(), func(backend *replica) bool { return !slices.Contains(nodes, backend.node()) })
	return identities(evicted), inParallel(evicted, func(backend *replica) error {
		backend.sample()
		backend.expectExit()
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: backend.name, Namespace: d.run.namespace}}
		return explain(ignoreNotFound(d.run.api.client.PolicyV1().Evict(ctx, eviction)), d.run.namespace)
	})
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
