package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// cordons are the nodes that the run has cordoned. They are written to the namespace first,
// so that `rpclab clean` can uncordon them when the run is killed.
type cordons struct {
	api       *API
	namespace string

	mu    sync.Mutex
	nodes []string
}

// add cordons a node, unless it is cordoned already.
func (c *cordons) add(ctx context.Context, node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	current, err := c.api.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return explain(err, c.namespace)
	}
	if current.Spec.Unschedulable {
		return nil
	}
	before := c.nodes
	nodes := append(slices.Clone(before), node)
	if err := c.write(ctx, nodes); err != nil {
		return err
	}
	c.nodes = nodes
	if err := c.api.setCordon(ctx, node, true); err != nil {
		failed := fmt.Errorf("cordon node %s: %w", node, explain(err, ""))
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) { // after other errors it may be cordoned
			c.nodes = before
			failed = errors.Join(failed, c.write(ctx, before))
		}
		return failed
	}
	return nil
}

// undo uncordons all nodes and forgets them: what others do to them later is not ours. It says what happened to each, except
// for those that were no longer cordoned.
func (c *cordons) undo(ctx context.Context) (said []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.nodes) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	var remaining []string
	for _, node := range c.nodes {
		switch text, failed := c.api.uncordon(ctx, node); {
		case apierrors.IsNotFound(failed): // no longer in the cluster
		case failed != nil:
			err, remaining = errors.Join(err, failed), append(remaining, node)
		case text != "":
			said = append(said, fmt.Sprintf("Node %s: %s", node, text))
		}
	}
	c.nodes = remaining
	return said, errors.Join(err, ignoreNotFound(c.write(ctx, remaining)))
}

// undoTimeout is how long it may take to restore what a run has changed.
const undoTimeout = 10 * time.Second

// write stores the cordoned nodes as an annotation of the namespace.
func (c *cordons) write(ctx context.Context, nodes []string) error {
	return c.api.annotate(ctx, c.namespace, noteCordoned, strings.Join(nodes, ","))
}

// any says whether a node is still cordoned.
func (c *cordons) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.nodes) > 0
}

// uncordonAll uncordons the nodes that a run has written to its namespace, and says what happened to each.
func (a *API) uncordonAll(ctx context.Context, namespace *corev1.Namespace) (said []string, err error) {
	listed := cordons{api: a, namespace: namespace.Name}
	if text := namespace.Annotations[noteCordoned]; text != "" {
		listed.nodes = strings.Split(text, ",")
	}
	return listed.undo(ctx)
}

// uncordon uncordons a node that rpclab has cordoned, and says so, or why not; "": it is no longer cordoned.
func (a *API) uncordon(ctx context.Context, node string) (said string, err error) {
	current, err := a.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err == nil {
		switch by := cordonedBy(current); {
		case !current.Spec.Unschedulable:
			return "", nil
		case by != manager:
			return "left cordoned, because " + by + " has cordoned it since", nil
		}
		err = a.setCordon(ctx, node, false)
	}
	if err != nil {
		return "", fmt.Errorf("node %s is still cordoned: %w\nUncordon it with `kubectl uncordon %s`", node, explain(err, ""), node)
	}
	return "uncordoned", nil
}

// cordonedBy returns the field manager that last changed whether a node is cordoned: rpclab, unless the API server knows
// another.
func cordonedBy(node *corev1.Node) string {
	for _, fields := range node.ManagedFields {
		if fields.FieldsV1 != nil && bytes.Contains(fields.FieldsV1.Raw, []byte(`"f:unschedulable"`)) {
			return fields.Manager
		}
	}
	return manager
}

// setCordon cordons or uncordons a node.
func (a *API) setCordon(ctx context.Context, node string, closed bool) error {
	body := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, closed)
	_, err := a.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	return err
}
