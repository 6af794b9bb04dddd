package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ignoreNotFound returns nil when the object is already deleted.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// cordons are the nodes that the run has cordoned. They are written to the namespace first,
// so that `rpclab clean` can uncordon them when the run is killed.
type cordons struct {
	api *API

	mu    sync.Mutex
	nodes []string
}

// add cordons a node, unless it is cordoned already.
func (c *cordons) add(ctx context.Context, namespace, node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	current, err := c.api.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return explain(err, namespace)
	}
	if current.Spec.Unschedulable {
		return nil
	}
	nodes := append(slices.Clone(c.nodes), node)
	if err := c.write(ctx, namespace, nodes); err != nil {
		return err
	}
	c.nodes = nodes
	if err := c.api.setCordon(ctx, node, true); err != nil {
		return fmt.Errorf("cordon node %s: %w", node, explain(err, ""))
	}
	return nil
}

// undo uncordons all nodes and forgets them: what others do to them later is not ours.
func (c *cordons) undo(namespace string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.nodes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var remaining []string
	var errs []error
	for _, node := range c.nodes {
		if err := c.api.uncordon(ctx, node); err != nil {
			errs, remaining = append(errs, err), append(remaining, node)
		}
	}
	c.nodes = remaining
	return errors.Join(append(errs, c.write(ctx, namespace, remaining))...)
}

// write stores the cordoned nodes as an annotation of the namespace.
func (c *cordons) write(ctx context.Context, namespace string, nodes []string) error {
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, noteCordoned, strings.Join(nodes, ","))
	_, err := c.api.client.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	return explain(err, namespace)
}

// any says whether a node is still cordoned.
func (c *cordons) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.nodes) > 0
}

// uncordon uncordons a node, if it still exists.
func (a *API) uncordon(ctx context.Context, node string) error {
	if err := ignoreNotFound(a.setCordon(ctx, node, false)); err != nil {
		return fmt.Errorf("node %s is still cordoned: %w\nUncordon it with `kubectl uncordon %s`", node, explain(err, ""), node)
	}
	return nil
}

// setCordon cordons or uncordons a node.
func (a *API) setCordon(ctx context.Context, node string, closed bool) error {
	body := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, closed)
	_, err := a.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	return err
}

// node is the node of the pod; empty: it is not scheduled.
func (r *replica) node() string {
	r.deployment.mu.Lock()
	defer r.deployment.mu.Unlock()
	return r.pod.Spec.NodeName
}

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
	var evicted []*replica
	for _, r := range d.active() {
		if slices.Contains(nodes, r.node()) {
			evicted = append(evicted, r)
		}
	}
	return identities(evicted), inParallel(evicted, func(r *replica) error {
		r.sample()
		d.mu.Lock()
		r.stopping = true
		d.mu.Unlock()
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: r.name(), Namespace: d.cluster.namespace}}
		return explain(ignoreNotFound(d.cluster.api.client.PolicyV1().Evictions(d.cluster.namespace).Evict(ctx, eviction)), d.cluster.namespace)
	})
}

// cordonNodes cordons n nodes that have backends.
func (d *deployment) cordonNodes(ctx context.Context, n int) (nodes []string, err error) {
	for _, r := range d.active() {
		if at := r.node(); at != "" && !slices.Contains(nodes, at) && len(nodes) < n {
			nodes = append(nodes, at)
		}
	}
	if len(nodes) < n {
		return nil, fmt.Errorf("backends of %s are on %d nodes, %d are needed", d.name, len(nodes), n)
	}
	for _, node := range nodes {
		if err := d.cluster.cordons.add(ctx, d.cluster.namespace, node); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}
