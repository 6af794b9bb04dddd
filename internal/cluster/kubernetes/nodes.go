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
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, noteCordoned, strings.Join(noted, ","))
	_, err = c.api.client.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		return explain(err, namespace)
	}
	c.nodes = noted
	return c.api.cordon(ctx, node, true)
}

// undo opens all of them.
func (c *cordons) undo() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	for _, node := range c.nodes {
		errs = append(errs, c.api.cordon(ctx, node, false))
	}
	c.nodes = nil
	return errors.Join(errs...)
}

// cordon closes a node to new pods, or opens it.
func (a *API) cordon(ctx context.Context, node string, closed bool) error {
	body := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, closed)
	_, err := a.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		return fmt.Errorf("cordon node %s (%t): %w", node, closed, explain(err, ""))
	}
	return nil
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
		if slices.Contains(nodes, r.pod.Spec.NodeName) {
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
		if at := r.pod.Spec.NodeName; at != "" && !slices.Contains(nodes, at) && len(nodes) < n {
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
