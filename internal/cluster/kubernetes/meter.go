package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"rpclab/internal/agent"
	"rpclab/internal/cluster"
)

const (
	meterContainer = "rpclab-meter"
	// meterTimeout is how long a deployment waits for its meters. Those of later pods have as long as their pod.
	meterTimeout = 20 * time.Second
)

// meter measures the server of a user in one pod (docs/decisions/0037).
type meter struct {
	run     *run
	spec    cluster.Spec
	pod     func() *corev1.Pod // as last seen
	gone    <-chan struct{}    // closed when the pod is
	started chan struct{}      // closed when it measures, or cannot

	mu      sync.Mutex
	server  *agent.Meter // nil: it does not measure
	err     error        // why it does not
	used    cluster.Usage
	known   bool // it counts from the last reset, or from the start of the server
	sampled bool // used is of this measurement, and the last one succeeded
}

// whyNoMeters says why no meter can measure the pods of a user's server; empty: it can.
func (r *run) whyNoMeters(ctx context.Context, pod corev1.PodSpec) (string, error) {
	if pod.ShareProcessNamespace != nil && *pod.ShareProcessNamespace {
		return "the containers of its pods share a process namespace", nil
	}
	able, err := r.api.may(ctx, r.namespace, "", "pods/ephemeralcontainers", "patch")
	if err != nil {
		return "", fmt.Errorf("check permissions: %w", err)
	}
	if !able {
		return "this user may not patch pods/ephemeralcontainers (the permissions `usage` in docs/kubernetes.md)", nil
	}
	failed, _ := r.meters.Load().(string) // of an earlier deployment
	return failed, nil
}

// measure starts the measurement when the server runs.
func (m *meter) measure(ctx context.Context) {
	server, err := m.start(ctx)
	m.mu.Lock()
	m.server, m.err = server, err
	m.mu.Unlock()
	close(m.started)
}

// start adds a container to the pod that joins the process namespace of the server, and connects to its agent.
func (m *meter) start(ctx context.Context) (*agent.Meter, error) {
	for !serverRuns(m.pod()) {
		select {
		case <-m.run.watcher.change():
		case <-m.gone:
			return nil, errors.New("the pod is gone")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	pod := m.pod()
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"ephemeralContainers": []corev1.EphemeralContainer{meterOf(pod, m.run.objectScope, m.spec)}}})
	if err != nil {
		return nil, err
	}
	if _, err := m.run.api.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{FieldManager: manager}, "ephemeralcontainers"); err != nil {
		return nil, explain(err, pod.Namespace)
	}
	conn, err := m.run.dialAgent(pod.Name, meterPort(m.spec))
	if err != nil {
		return nil, err
	}
	m.run.tasks.Go(func() {
		select {
		case <-m.gone:
		case <-ctx.Done():
		}
		conn.Close()
	})
	server := agent.NewMeter(conn, agent.Target{Name: pod.Name, Host: pod.Status.PodIP, Token: m.run.token})
	if _, err := server.Usage(ctx); err != nil {
		return nil, fmt.Errorf("the container %s of pod %s: %w", meterContainer, pod.Name, err)
	}
	return server, nil
}

// meterOf is a container that measures the server of a pod, as the same user. Process 1 of the server's namespace is the
// server.
func meterOf(pod *corev1.Pod, scope objectScope, spec cluster.Spec) corev1.EphemeralContainer {
	main := mainOf(&pod.Spec, serverOf(pod))
	c := scope.ownContainer(meterContainer, append(agentArgs(meterPort(spec)), "--observe", "1"))
	c.Resources = corev1.ResourceRequirements{} // those of a pod are fixed
	c.VolumeMounts = []corev1.VolumeMount{tokenMount}
	if own := main.SecurityContext; own != nil {
		c.SecurityContext.RunAsUser, c.SecurityContext.RunAsGroup = own.RunAsUser, own.RunAsGroup
	}
	return corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon(c), TargetContainerName: main.Name}
}

// await returns when the meter measures, or why it does not.
func (m *meter) await(ctx context.Context) error {
	select {
	case <-m.started:
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.err
	case <-m.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the container %s of pod %s did not start within %s", meterContainer, m.pod().Name, meterTimeout)
	}
}

// isLeaving says whether the pod is being deleted.
func (m *meter) isLeaving() bool { return m.pod().DeletionTimestamp != nil }

// reset starts a new measurement.
func (m *meter) reset() {
	server, known := m.measured(), false
	if server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		known = server.ResetUsage(ctx) == nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used, m.known, m.sampled = cluster.Usage{}, known, false
}

// sample measures what the server has used, if it can. A server that is not stopping and cannot be measured has
// crashed, or its meter has, unless the meter had too little time to answer.
func (m *meter) sample(stopping bool) error {
	server := m.measured()
	if server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	used, err := server.Usage(ctx)
	leaves := stopping || m.isLeaving()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.used, m.sampled = cluster.Usage{CPU: used.CPU, MaxRSS: used.MaxRSS, Stolen: used.Stolen}, true
	case leaves:
	case status.Code(err) == codes.DeadlineExceeded:
		m.sampled = false
	default:
		m.known, m.server = false, nil
	}
	return err
}

func (m *meter) measured() *agent.Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server
}

// usage returns what the server had used when it was last measured. known is false if no meter measured it since the last
// reset, although it ran.
func (m *meter) usage() (used cluster.Usage, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.known && m.sampled
}
