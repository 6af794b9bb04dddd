package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"rpclab/internal/cluster"
)

// deletionCost is the annotation by which the controller selects the pods to delete: the
// cheapest.
const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// leaveTimeout is how long the controller may take to choose the pods to delete.
const leaveTimeout = 3 * time.Second

// Scale sets the number of pods. It removes the newest, as the local cluster does, but the controller deletes pods that
// are not ready first. It returns those that leave.
func (d *deployment) Scale(ctx context.Context, replicas int) ([]string, error) {
	if replicas < 1 {
		return nil, fmt.Errorf("scale %s to %d: at least 1 backend is needed", d.name, replicas)
	}
	active := d.active()
	leaving := active[min(replicas, len(active)):]
	if len(leaving) > 0 {
		_ = inParallel(active, func(backend *replica) error { backend.sample(); return nil })
	}
	err := inParallel(leaving, func(backend *replica) error {
		return d.patch(ctx, backend, map[string]any{"metadata": map[string]any{"annotations": map[string]any{deletionCost: "-1"}}})
	})
	if err != nil {
		return nil, fmt.Errorf("scale %s to %d: %w", d.name, replicas, err)
	}
	if err := d.run.api.setReplicas(ctx, d.run.namespace, d.name, replicas); err != nil {
		return nil, fmt.Errorf("scale %s to %d: %w", d.name, replicas, err)
	}
	d.mu.Lock()
	d.wanted = replicas
	d.mu.Unlock()
	return identities(d.awaitLeaving(ctx, active, leaving)), nil
}

// awaitLeaving returns those of the active backends whose pods are being deleted, once they are as many as expected. If
// that takes too long, it returns the expected ones.
func (d *deployment) awaitLeaving(ctx context.Context, active, expected []*replica) []*replica {
	limit := time.After(leaveTimeout)
	for {
		changed := d.run.watcher.change()
		stay := map[string]bool{}
		for _, pod := range d.run.watcher.podsOf(d.name) {
			stay[pod.Name] = pod.DeletionTimestamp == nil
		}
		leaving := slices.DeleteFunc(slices.Clone(active), func(backend *replica) bool { return stay[backend.name] })
		if len(leaving) >= len(expected) {
			return leaving
		}
		select {
		case <-changed:
		case <-limit:
			return expected
		case <-ctx.Done():
			return expected
		}
	}
}

// Stop deletes the n oldest ready pods gracefully.
func (d *deployment) Stop(ctx context.Context, n int) ([]string, error) {
	return d.forOldest(n, func(backend *replica) error { return d.delete(ctx, backend, nil) })
}

// Kill ends the n oldest ready backends with SIGKILL and deletes their pods, so that their
// replacements have new names and addresses. The kubelet ends the program of a user: it sends SIGKILL two seconds
// after the stop signal. A fault proxy before the program ends at once, and with it all connections.
func (d *deployment) Kill(ctx context.Context, n int) ([]string, error) {
	now := int64(0)
	return d.forOldest(n, func(backend *replica) error {
		return errors.Join(backend.signal(syscall.SIGKILL), d.delete(ctx, backend, &now))
	})
}

// Rollout restarts the Deployment, as `kubectl rollout restart` does, or replaces its program by the next.
func (d *deployment) Rollout(ctx context.Context, next *cluster.Program) ([]string, error) {
	old := d.active()
	_ = inParallel(old, func(backend *replica) error { backend.sample(); return nil })
	var changed map[string]any
	switch {
	case next == nil && d.spec.NextArgs != nil:
		spec := d.spec // a copy, because other goroutines read it
		spec.Args = spec.NextArgs
		changed = map[string]any{"containers": ownServer(d.run.objectScope, spec).Containers}
	case next != nil:
		spec := d.spec
		spec.Program = next
		pod, err := programPod(d.run.objectScope, spec)
		if err == nil {
			err = d.run.applyObjectsOf(ctx, next)
		}
		if err != nil {
			return nil, fmt.Errorf("roll out %s: %w", d.name, err)
		}
		changed = programFields(pod)
		wanted, err := d.run.api.restart(ctx, d.run.namespace, d.name, changed, metav1.DryRunAll)
		if err == nil {
			err = checkStopSignal(next, wanted.Spec.Template.Spec)
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := d.run.api.restart(ctx, d.run.namespace, d.name, changed); err != nil {
		return nil, err
	}
	return identities(old), nil
}

// programFields are the fields of a pod that depend on its program.
func programFields(pod corev1.PodSpec) map[string]any {
	return map[string]any{"containers": pod.Containers, "imagePullSecrets": pod.ImagePullSecrets, "volumes": pod.Volumes, "terminationGracePeriodSeconds": pod.TerminationGracePeriodSeconds, "os": pod.OS}
}

// Pause suspends the n oldest ready backends with SIGSTOP. Of the program of a user it suspends the fault proxy, so
// callers and the kubelet get no response from the pod.
func (d *deployment) Pause(_ context.Context, n int) ([]string, error) {
	if !d.hasAgents() {
		return nil, fmt.Errorf("pause %s: its pods have no fault proxy", d.name)
	}
	return d.forOldest(n, func(backend *replica) error { return backend.signal(syscall.SIGSTOP) })
}

// Resume resumes every paused backend.
func (d *deployment) Resume(context.Context) error {
	return inParallel(d.active(), func(backend *replica) error {
		if !backend.isPaused() {
			return nil
		}
		return backend.signal(syscall.SIGCONT)
	})
}

// forOldest samples what the n oldest backends that are ready and not paused have used, calls do
// for each, and returns their identities.
func (d *deployment) forOldest(n int, do func(*replica) error) ([]string, error) {
	able, err := d.oldest(n)
	if err != nil {
		return nil, err
	}
	return identities(able), inParallel(able, func(backend *replica) error {
		backend.sample()
		return do(backend)
	})
}

// oldest are the n oldest backends that are ready and not paused.
func (d *deployment) oldest(n int) ([]*replica, error) {
	ready := map[string]bool{}
	now, _ := d.endpoints.Current()
	for _, endpoint := range now.Ready() {
		ready[endpoint.ID] = true
	}
	able := slices.DeleteFunc(d.active(), func(backend *replica) bool {
		return !ready[backend.name] || backend.isPaused() || d.hasAgents() && backend.attached() == nil
	})
	if len(able) < n {
		return nil, fmt.Errorf("%d of %s's backends are ready, %d are needed", len(able), d.name, n)
	}
	return able[:n], nil
}

// delete deletes a pod, whose exit is expected from now on. nil grace: the default.
func (d *deployment) delete(ctx context.Context, backend *replica, grace *int64) error {
	backend.expectExit()
	err := d.run.api.client.CoreV1().Pods(d.run.namespace).Delete(ctx, backend.name, metav1.DeleteOptions{GracePeriodSeconds: grace})
	return explain(ignoreNotFound(err), d.run.namespace)
}

// patch changes a pod, if it still exists.
func (d *deployment) patch(ctx context.Context, backend *replica, change any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = d.run.api.client.CoreV1().Pods(d.run.namespace).
		Patch(ctx, backend.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	return explain(ignoreNotFound(err), d.run.namespace)
}
