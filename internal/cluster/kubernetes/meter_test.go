package kubernetes

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authorization "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/agent"
	"rpclab/internal/cluster"
)

var programSpec = cluster.Spec{Name: "orders", Replicas: 1, Program: &cluster.Program{Image: "orders:1"}}

func TestAMeterJoinsTheProcessesOfTheServer(t *testing.T) {
	user := int64(1000)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{noteContainer: "server"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "logs"}, {Name: "server", SecurityContext: &corev1.SecurityContext{RunAsUser: &user}}}
	c := meterOf(pod, testScope, programSpec)
	if c.TargetContainerName != "server" || *c.SecurityContext.RunAsUser != user || *c.SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("the container joins %q as %+v, want server, its user and no privileges", c.TargetContainerName, c.SecurityContext)
	}
	if len(c.Resources.Requests)+len(c.Resources.Limits)+len(c.Ports) > 0 {
		t.Errorf("the container has resources %+v and ports %v, which Kubernetes refuses", c.Resources, c.Ports)
	}
	made, err := programPod(testScope, programSpec)
	if err != nil {
		t.Fatal(err)
	}
	for _, mount := range c.VolumeMounts {
		if !slices.ContainsFunc(made.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
			t.Errorf("pods have no volume %s", mount.Name)
		}
		for _, other := range made.Containers {
			if slices.ContainsFunc(other.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == mount.Name }) {
				t.Errorf("container %s mounts the token of agents", other.Name)
			}
		}
	}
}

func TestWhyThereAreNoMeters(t *testing.T) {
	yes := true
	for _, c := range []struct {
		name    string
		pod     corev1.PodSpec
		allowed bool
		earlier string
		want    string
	}{
		{name: "allowed", allowed: true},
		{name: "not allowed", want: "this user may not patch pods/ephemeralcontainers"},
		{name: "shared processes", allowed: true, pod: corev1.PodSpec{ShareProcessNamespace: &yes}, want: "share a process namespace"},
		{name: "failed before", allowed: true, earlier: "no image", want: "no image"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := fakeObjects(t, func(r authorization.ResourceAttributes) bool {
				return c.allowed && r.Verb == "patch" && r.Resource == "pods" && r.Subresource == "ephemeralcontainers" && r.Namespace == "ours"
			})
			r := &run{api: api, objectScope: objectScope{namespace: "ours"}}
			if c.earlier != "" {
				r.meters.Store(c.earlier)
			}
			why, err := r.whyNoMeters(t.Context(), c.pod)
			if err != nil || !strings.Contains(why, c.want) || (why == "") != (c.want == "") {
				t.Errorf("%q, error %v, want %q", why, err, c.want)
			}
		})
	}
}

// meteredAgent measures a program.
type meteredAgent struct {
	rpclabv1.UnimplementedAgentServer
	used time.Duration
	err  error // why it cannot
}

var (
	errLost = status.Error(codes.NotFound, "there is no process 1")
	errSlow = status.Error(codes.DeadlineExceeded, "the node is busy")
)

func (a *meteredAgent) Usage(_ context.Context, r *rpclabv1.UsageRequest) (*rpclabv1.UsageReply, error) {
	if a.err != nil {
		return nil, a.err
	}
	reply := &rpclabv1.UsageReply{CpuNs: int64(a.used), MaxRss: 7}
	if r.Reset_ {
		a.used = 0
	}
	return reply, nil
}

// Usage that does not cover a whole load is not known.
func TestTheUsageOfAUsersServersIsOfTheWholeLoadOrUnknown(t *testing.T) {
	deleted := metav1.Now()
	for _, c := range []struct {
		name   string
		change func(d *deployment, backend *replica, a *meteredAgent) // during the load
		want   time.Duration                                          // -1: not known
	}{
		{"runs", func(*deployment, *replica, *meteredAgent) {}, time.Second},
		{"stops", func(d *deployment, backend *replica, a *meteredAgent) {
			backend.sample()
			backend.update(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted}})
			a.err = errLost
			backend.sample()
			delete(d.replicas, "a")
			d.recordExit(backend)
		}, time.Second},
		{"crashes", func(_ *deployment, backend *replica, a *meteredAgent) {
			backend.sample()
			a.err = errLost
		}, -1},
		{"crashes and is replaced", func(d *deployment, backend *replica, a *meteredAgent) {
			a.err = errLost
			backend.sample()
			delete(d.replicas, "a")
			d.recordExit(backend)
		}, -1},
		{"does not answer in time, then does", func(_ *deployment, backend *replica, a *meteredAgent) {
			a.err = errSlow
			backend.sample()
			a.err = nil
		}, time.Second},
		{"does not answer in time at the end", func(_ *deployment, backend *replica, a *meteredAgent) {
			backend.sample()
			a.err = errSlow
		}, -1},
		{"joined by one without a meter", func(d *deployment, _ *replica, _ *meteredAgent) {
			d.replicas["b"] = running("b")
		}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &meteredAgent{used: time.Hour}
			backend := running("a")
			backend.meter.server = agent.NewMeter(connect(t, a), agent.Target{Name: "orders-1-a"})
			d := &deployment{name: "orders-1", spec: programSpec, replicas: map[types.UID]*replica{"a": backend}}
			if err := d.ResetUsage(); err != nil {
				t.Fatal(err)
			}
			a.used = time.Second
			c.change(d, backend, a)
			used := d.Usage()
			switch {
			case c.want < 0 && (used != nil || d.WhyUsageUnknown() == ""):
				t.Errorf("the usage is %v (%q), want unknown and why", used, d.WhyUsageUnknown())
			case c.want > 0 && (len(used) != 1 || used["orders-1-a"].CPU != c.want || used["orders-1-a"].MaxRSS != 7):
				t.Errorf("the usage is %v (%q), want %v", used, d.WhyUsageUnknown(), c.want)
			}
		})
	}
}

// running is a replica whose server runs.
func running(name string) *replica {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orders-1-" + name}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: mainContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	backend := newReplica(nil, pod, programSpec)
	backend.update(pod)
	return backend
}
