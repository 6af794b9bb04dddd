package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"rpclab/internal/agent"
	"rpclab/internal/cluster"
)

const (
	meterContainer = "rpclab-meter"
	// meterTimeout is how long the meters of a deployment may take to start.
	meterTimeout = 20 * time.Second
	// leavingPause is the time between two measurements of a server that is stopping.
	leavingPause = 200 * time.Millisecond
)

// permissionOfMeters says what a user lacks.
const permissionOfMeters = "this user may not patch pods/ephemeralcontainers (the permissions `usage` in docs/kubernetes.md)"

// whyNoMeters says why no meter can measure the pods of a user's server; empty: it can. The reasons are the same for all
// deployments of a run with one template.
func (d *deployment) whyNoMeters(ctx context.Context, pod corev1.PodSpec) (string, error) {
	if pod.ShareProcessNamespace != nil && *pod.ShareProcessNamespace {
		return "the containers of its pods share a process namespace", nil
	}
	able, err := d.run.api.may(ctx, d.run.namespace, "", "pods/ephemeralcontainers", "patch")
	if err != nil {
		return "", fmt.Errorf("check permissions: %w", err)
	}
	if !able {
		return permissionOfMeters, nil
	}
	failed, _ := d.run.meters.Load().(string) // of an earlier deployment
	return failed, nil
}

// WhyUsageUnknown implements [cluster.Unmeasured].
func (d *deployment) WhyUsageUnknown() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return cmp.Or(d.noMeters, d.unmeasured)
}

// awaitMeters waits until each present replica has its meter. The cluster may be unable to start them, which is no
// failure of the run: the usage is then unknown.
func (d *deployment) awaitMeters(ctx context.Context) {
	if d.ownServers() || d.noMeters != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, meterTimeout)
	defer cancel()
	err := inParallel(d.present(), func(backend *replica) error {
		select {
		case <-backend.metered:
			return backend.meterError
		case <-backend.gone:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("the container %s of pod %s did not start within %s", meterContainer, backend.name, meterTimeout)
		}
	})
	if err != nil && d.ctx.Err() == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.noMeters = err.Error()
		d.run.meters.Store(d.noMeters)
	}
}

// measureServer starts a meter in the pod when its server runs, and measures a server that stops until it has exited.
func (r *replica) measureServer(ctx context.Context) {
	meter, err := r.startMeter(ctx)
	r.mu.Lock()
	r.meter, r.meterError = meter, err
	r.mu.Unlock()
	close(r.metered)
	for err == nil {
		changed, pause := r.run.watcher.change(), (<-chan time.Time)(nil)
		if r.isLeaving() {
			changed, pause = nil, time.After(leavingPause)
		}
		select {
		case <-changed:
		case <-pause:
			err = r.read(meter)
		case <-r.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

// startMeter adds a container to the pod that joins the process namespace of the server, and connects to its agent.
func (r *replica) startMeter(ctx context.Context) (*agent.Meter, error) {
	for !r.serverRuns() {
		changed := r.run.watcher.change()
		select {
		case <-changed:
		case <-r.gone:
			return nil, errors.New("the pod is gone")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.mu.Lock()
	pod := r.pod
	r.mu.Unlock()
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"ephemeralContainers": []corev1.EphemeralContainer{meterOf(pod, r.run.image, r.spec)}}})
	if err != nil {
		return nil, err
	}
	if _, err := r.run.api.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{FieldManager: manager}, "ephemeralcontainers"); err != nil {
		return nil, explain(err, pod.Namespace)
	}
	conn, err := r.run.dialAgent(pod.Name, meterPort(r.spec))
	if err != nil {
		return nil, err
	}
	r.run.tasks.Go(func() {
		select {
		case <-r.gone:
		case <-ctx.Done():
		}
		conn.Close()
	})
	meter := agent.NewMeter(conn, agent.Target{Name: pod.Name, Host: pod.Status.PodIP, Token: r.run.token})
	limited, cancel := context.WithTimeout(ctx, meterTimeout)
	defer cancel()
	if _, err := meter.Usage(limited); err != nil {
		return nil, fmt.Errorf("the container %s of pod %s: %w", meterContainer, pod.Name, err)
	}
	return meter, nil
}

// meterOf is a container that measures the server of a pod, as the same user. Process 1 of the server's namespace is the
// server.
func meterOf(pod *corev1.Pod, image string, spec cluster.Spec) corev1.EphemeralContainer {
	main := mainOf(&pod.Spec, serverOf(pod))
	c := container(meterContainer, image, append(agentArgs(meterPort(spec)), "--observe", "1"))
	c.Resources = corev1.ResourceRequirements{} // those of a pod are fixed
	c.VolumeMounts = []corev1.VolumeMount{tokenMount}
	if own := main.SecurityContext; own != nil {
		c.SecurityContext.RunAsUser, c.SecurityContext.RunAsGroup = own.RunAsUser, own.RunAsGroup
	}
	return corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon(c), TargetContainerName: main.Name}
}

// serverRuns says whether the container with the server runs.
func (r *replica) serverRuns() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, status := range r.pod.Status.ContainerStatuses {
		if status.Name == serverOf(r.pod) {
			return status.State.Running != nil
		}
	}
	return false
}

// isLeaving says whether the pod is being deleted.
func (r *replica) isLeaving() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pod.DeletionTimestamp != nil
}

// resetMeter starts a new measurement.
func (r *replica) resetMeter() {
	r.mu.Lock()
	meter := r.meter
	r.mu.Unlock()
	known := false
	if meter != nil {
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		known = meter.ResetUsage(ctx) == nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used, r.usageKnown, r.sampled = cluster.Usage{}, known, false
}

// sampleMeter measures what the server has used, if it has a meter.
func (r *replica) sampleMeter() {
	r.mu.Lock()
	meter := r.meter
	r.mu.Unlock()
	if meter != nil {
		_ = r.read(meter)
	}
}

// read measures what the server has used.
func (r *replica) read(meter *agent.Meter) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	used, err := meter.Usage(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.used, r.sampled = cluster.Usage{CPU: used.CPU, MaxRSS: used.MaxRSS, Stolen: used.Stolen}, true
	case r.pod.DeletionTimestamp == nil && !r.stopping: // the server crashed, or its meter did
		r.usageKnown, r.meter = false, nil
	}
	return err
}

// programUsage is what the servers of a user have used since ResetUsage; nil: not known. A server that stopped counts
// as last measured, less than leavingPause and a request before its exit.
func (d *deployment) programUsage() map[string]cluster.Usage {
	if d.WhyUsageUnknown() != "" {
		return nil
	}
	_ = inParallel(d.present(), func(backend *replica) error {
		backend.sample()
		return nil
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	used := maps.Clone(d.account.Exited)
	for _, backend := range d.replicas {
		usage, known := backend.meteredUsage()
		if !known && backend.hasRun() {
			d.unmeasured = fmt.Sprintf("pod %s could not be measured from the beginning to the end of the load", backend.name)
			return nil
		}
		used[backend.name] = usage
	}
	return used
}

// meteredUsage is what the server had used when it was last measured. known is false if no meter measured it since the
// last reset.
func (r *replica) meteredUsage() (used cluster.Usage, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used, r.usageKnown && r.sampled
}

// hasRun says whether the server has run.
func (r *replica) hasRun() bool { return r.serverRuns() || r.isLeaving() || r.runningFor() > 0 }
