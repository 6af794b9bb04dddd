package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// deletionCost is the note by which a controller chooses the pods that go: the cheapest.
const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// Scale changes how many pods are wanted. When some are to go, it is the newest, as on one
// machine.
func (d *deployment) Scale(ctx context.Context, replicas int) ([]string, error) {
	if replicas < 1 {
		return nil, fmt.Errorf("scale %s to %d: at least 1 backend is needed", d.name, replicas)
	}
	active := d.active()
	leaving := active[min(replicas, len(active)):]
	err := together(leaving, func(r *replica) error {
		r.sample()
		return d.patch(ctx, r, map[string]any{"metadata": map[string]any{"annotations": map[string]any{deletionCost: "-1"}}})
	})
	if err != nil {
		return nil, fmt.Errorf("scale %s to %d: %w", d.name, replicas, err)
	}
	client := d.cluster.api.client.AppsV1().Deployments(d.cluster.namespace)
	body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := client.Patch(ctx, d.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager}, "scale"); err != nil {
		return nil, fmt.Errorf("scale %s to %d: %w", d.name, replicas, explain(err, d.cluster.namespace))
	}
	return d.struck(leaving), nil
}

// Stop deletes the n oldest ready pods gracefully.
func (d *deployment) Stop(ctx context.Context, n int) ([]string, error) {
	return d.each(n, func(r *replica) error { return d.delete(ctx, r, nil) })
}

// Kill ends the n oldest ready backends with SIGKILL, and takes their pods away, so that
// others come under new names and addresses.
func (d *deployment) Kill(ctx context.Context, n int) ([]string, error) {
	now := int64(0)
	return d.each(n, func(r *replica) error {
		return errors.Join(r.signal(syscall.SIGKILL), d.delete(ctx, r, &now))
	})
}

// Roll restarts the Deployment: each new pod is ready before an old one goes.
func (d *deployment) Roll(ctx context.Context) ([]string, error) {
	old := d.active()
	_ = together(old, func(r *replica) error { r.sample(); return nil })
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"kubectl.kubernetes.io/restartedAt": time.Now().Format(time.RFC3339Nano)}}}}})
	if err != nil {
		return nil, err
	}
	_, err = d.cluster.api.client.AppsV1().Deployments(d.cluster.namespace).
		Patch(ctx, d.name, types.StrategicMergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		return nil, fmt.Errorf("roll %s: %w", d.name, explain(err, d.cluster.namespace))
	}
	return d.struck(old), nil
}

// Pause stops the n oldest ready backends with SIGSTOP.
func (d *deployment) Pause(_ context.Context, n int) ([]string, error) {
	return d.each(n, func(r *replica) error { return r.signal(syscall.SIGSTOP) })
}

// Resume lets every paused backend go on.
func (d *deployment) Resume(context.Context) error {
	return together(d.active(), func(r *replica) error {
		if !r.isPaused() {
			return nil
		}
		return r.signal(syscall.SIGCONT)
	})
}

// each does something to the n oldest backends that are ready and not paused, and returns
// their identities.
func (d *deployment) each(n int, do func(*replica) error) ([]string, error) {
	able, err := d.oldest(n)
	if err != nil {
		return nil, err
	}
	return d.struck(able), together(able, func(r *replica) error {
		r.sample()
		return do(r)
	})
}

func (d *deployment) oldest(n int) ([]*replica, error) {
	ready := map[string]bool{}
	now, _ := d.endpoints.Now()
	for _, e := range now.Ready() {
		ready[e.ID] = true
	}
	able := slices.DeleteFunc(d.active(), func(r *replica) bool { return !ready[r.name()] || r.isPaused() || r.attended() == nil })
	if len(able) < n {
		return nil, fmt.Errorf("%d of %s's backends are ready, %d are needed", len(able), d.name, n)
	}
	return able[:n], nil
}

// active are the pods that were not told to go, the oldest first.
func (d *deployment) active() (active []*replica) {
	pods := d.cluster.look.podsOf(d.name)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, pod := range pods {
		if r := d.replicas[pod.UID]; r != nil && pod.DeletionTimestamp == nil && !r.hit {
			active = append(active, r)
		}
	}
	return active
}

// struck are the identities of replicas.
func (d *deployment) struck(replicas []*replica) (ids []string) {
	for _, r := range replicas {
		ids = append(ids, r.name())
	}
	return ids
}

// delete deletes a pod, whose end is from now on asked for. nil grace: its own.
func (d *deployment) delete(ctx context.Context, r *replica, grace *int64) error {
	d.mu.Lock()
	r.hit = true
	d.mu.Unlock()
	err := d.cluster.api.client.CoreV1().Pods(d.cluster.namespace).Delete(ctx, r.name(), metav1.DeleteOptions{GracePeriodSeconds: grace})
	return explain(gone(err), d.cluster.namespace)
}

func (d *deployment) patch(ctx context.Context, r *replica, change any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = d.cluster.api.client.CoreV1().Pods(d.cluster.namespace).
		Patch(ctx, r.name(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	return explain(gone(err), d.cluster.namespace)
}

// together does something for all at once and returns every error.
func together(all []*replica, do func(*replica) error) error {
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for n, r := range all {
		done.Go(func() { errs[n] = do(r) })
	}
	done.Wait()
	return errors.Join(errs...)
}
