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

// gone is an error unless it says that what is to go has gone already.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// cordons are the nodes that the run has closed to new pods. They are written down in the
// namespace first, so that whoever removes it after our death opens them again.
type cordons struct {
	api *API

	mu    sync.Mutex
	nodes []string
}

// add closes a node, unless others did.
func (c *cordons) add(ctx context.Context, namespace, node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, err := c.api.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return explain(err, namespace)
	}
	if was.Spec.Unschedulable {
		return nil
	}
	noted := append(slices.Clone(c.nodes), node)
	if err := c.write(ctx, namespace, noted); err != nil {
		return err
	}
	c.nodes = noted
	if err := c.api.cordon(ctx, node, true); err != nil {
		return fmt.Errorf("close node %s to new pods: %w", node, explain(err, ""))
	}
	return nil
}

// undo opens all of them, and forgets those that are open: what others do to them later is
// not ours.
func (c *cordons) undo(namespace string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.nodes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var closed []string
	var errs []error
	for _, node := range c.nodes {
		if err := c.api.open(ctx, node); err != nil {
			errs, closed = append(errs, err), append(closed, node)
		}
	}
	c.nodes = closed
	return errors.Join(append(errs, c.write(ctx, namespace, closed))...)
}

// write notes in the namespace which nodes are closed.
func (c *cordons) write(ctx context.Context, namespace string, nodes []string) error {
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, noteCordoned, strings.Join(nodes, ","))
	_, err := c.api.client.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	return explain(err, namespace)
}

// some says whether a node is still closed.
func (c *cordons) some() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.nodes) > 0
}

// open lets pods on a node again; one that is no more is no error.
func (a *API) open(ctx context.Context, node string) error {
	if err := gone(a.cordon(ctx, node, false)); err != nil {
		return fmt.Errorf("node %s is still closed to new pods: %w\nOpen it by `kubectl uncordon %s`", node, explain(err, ""), node)
	}
	return nil
}

// cordon closes a node to new pods, or opens it.
func (a *API) cordon(ctx context.Context, node string, closed bool) error {
	body := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, closed)
	_, err := a.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	return err
}

// node is where the pod runs; empty: nowhere yet.
func (r *replica) node() string {
	r.deployment.mu.Lock()
	defer r.deployment.mu.Unlock()
	return r.pod.Spec.NodeName
}

// Cordon closes the nodes of the n oldest ready backends to new pods, until the deployment
// is removed. It returns no backend: none is hit.
func (d *deployment) Cordon(ctx context.Context, n int) ([]string, error) {
	_, err := d.closeNodes(ctx, n)
	return nil, err
}

// Drain closes n nodes, those of the oldest ready backends first, and evicts the backends
// that are there. Pods of others, and callers, stay: they are not what is measured, or
// what measures.
func (d *deployment) Drain(ctx context.Context, n int) ([]string, error) {
	nodes, err := d.closeNodes(ctx, n)
	if err != nil {
		return nil, err
	}
	var there []*replica
	for _, r := range d.active() {
		if slices.Contains(nodes, r.node()) {
			there = append(there, r)
		}
	}
	return d.struck(there), together(there, func(r *replica) error {
		r.sample()
		d.mu.Lock()
		r.hit = true
		d.mu.Unlock()
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: r.name(), Namespace: d.cluster.namespace}}
		return explain(gone(d.cluster.api.client.PolicyV1().Evictions(d.cluster.namespace).Evict(ctx, eviction)), d.cluster.namespace)
	})
}

// closeNodes cordons n nodes that have backends.
func (d *deployment) closeNodes(ctx context.Context, n int) (nodes []string, err error) {
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
