package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/agent"
	"rpclab/internal/cluster"
)

// attachTimeout is how long the agent of a running pod may take to answer.
const attachTimeout = 30 * time.Second

// maxShapes is how many shapes of callers keep their pods, for arms that need different
// pods in turn: idle pods cost little, and new ones take time to start.
const maxShapes = 4

// callerPods is the pods of callers. They serve trial after trial: StartCallers starts new
// processes in them.
type callerPods struct {
	name  string // of the job
	shape cluster.CallerSpec
}

// fits says whether the pods can run these callers. The arguments may differ: agents receive them at
// each start.
func (c *callerPods) fits(spec cluster.CallerSpec) bool {
	same := c.shape
	same.Args, same.Sidecar = spec.Args, spec.Sidecar
	return (c.shape.Sidecar == nil) == (spec.Sidecar == nil) && reflect.DeepEqual(same, spec)
}

// StartCallers starts processes in pods, and the pods if none of their shape exist.
func (c *Cluster) StartCallers(ctx context.Context, spec cluster.CallerSpec) (all []cluster.Caller, err error) {
	if spec.Count < 1 {
		return nil, fmt.Errorf("start %s: %d processes; at least 1 is needed", spec.Name, spec.Count)
	}
	if err := c.checkMesh(ctx, spec.Mesh); err != nil {
		return nil, err
	}
	job, err := c.jobFor(ctx, spec)
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	err = c.awaitPods(ctx, job, spec.Count, func() (bool, error) {
		pods = indexed(c.watcher.podsOf(job), spec.Count)
		return pods != nil, nil
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, caller := range all {
				caller.Kill()
				if caller.Sidecar != nil {
					caller.Sidecar.Kill()
				}
			}
			all = nil
		}
	}()
	for n, pod := range pods {
		if spec.Mesh != "" {
			if err := checkProxy(pod, spec.Mesh); err != nil {
				return all, err
			}
		}
		name := fmt.Sprintf("%s-%d", spec.Name, n)
		main, err := c.startProcess(ctx, pod, mainPort, name, spec.Args)
		if err != nil {
			return all, err
		}
		all = append(all, cluster.Caller{Process: main})
		if spec.Sidecar == nil {
			continue
		}
		side, err := c.startProcess(ctx, pod, sidePort, name+"-sidecar", spec.Sidecar)
		if err != nil {
			return all, err
		}
		all[n].Sidecar = side
	}
	return all, nil
}

// startProcess starts a command of rpclab in a pod.
func (c *Cluster) startProcess(ctx context.Context, pod *corev1.Pod, port int, name string, args []string) (cluster.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	p, err := c.attach(ctx, pod.Name, port, agent.Target{Name: name, Host: pod.Status.PodIP, Args: append([]string{"rpclab"}, args...)})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return callerProcess{p, c, pod.Name}, nil
}

// jobFor is the name of the job whose pods serve the callers. It removes the job that was
// unused the longest when there are too many.
func (c *Cluster) jobFor(ctx context.Context, spec cluster.CallerSpec) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.callers[spec.Name]
	if i := slices.IndexFunc(kept, func(pods *callerPods) bool { return pods.fits(spec) }); i >= 0 {
		found := kept[i]
		c.callers[spec.Name] = append(slices.Delete(kept, i, i+1), found)
		return found.name, nil
	}
	if len(kept) == maxShapes {
		background := metav1.DeletePropagationBackground
		if err := ignoreNotFound(c.api.client.BatchV1().Jobs(c.namespace).Delete(ctx, kept[0].name, metav1.DeleteOptions{PropagationPolicy: &background})); err != nil {
			return "", explain(err, c.namespace)
		}
		kept = slices.Delete(kept, 0, 1)
		c.callers[spec.Name] = kept
	}
	c.deployed++
	created := &callerPods{name: fmt.Sprintf("%s-%d", spec.Name, c.deployed), shape: spec}
	if err := c.api.apply(ctx, callerJob(c.scope(), created.name, spec)); err != nil {
		return "", err
	}
	c.callers[spec.Name] = append(kept, created)
	return created.name, nil
}

// indexed returns the ready pods of a job by index, or nil when some are missing.
func indexed(pods []*corev1.Pod, count int) []*corev1.Pod {
	all := make([]*corev1.Pod, count)
	found := 0
	for _, p := range pods {
		n, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
		if err == nil && n < count && ready(p) && all[n] == nil {
			all[n] = p
			found++
		}
	}
	if found < count {
		return nil
	}
	return all
}

func (c *Cluster) scope() objectScope {
	return objectScope{namespace: c.namespace, run: c.ID, image: c.Image}
}

// callerGrace is how long agents may take to end their processes, in seconds.
const callerGrace = 5

// callerJob is an indexed Job, which replaces a pod that was evicted or deleted.
func callerJob(scope objectScope, name string, spec cluster.CallerSpec) *batchv1.Job {
	pods := map[string]string{labelService: name, labelRole: roleCaller}
	indexed, count, retries := batchv1.IndexedCompletion, int32(spec.Count), int32(1000)
	account := noPermissions
	if spec.Watches {
		account = watcherAccount
	}
	pod := podSpec(account, callerGrace, container(mainContainer, scope.image, agentArgs(mainPort)))
	pod.RestartPolicy = corev1.RestartPolicyNever
	if spec.Sidecar != nil {
		always := corev1.ContainerRestartPolicyAlways
		side := container(sideContainer, scope.image, agentArgs(sidePort))
		side.RestartPolicy = &always // a native sidecar (KEP-753)
		pod.InitContainers = []corev1.Container{side}
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(scope.meta("", pods).Labels)}, Spec: pod}
	inject(spec.Mesh, &template)
	return &batchv1.Job{
		ObjectMeta: scope.meta(name, map[string]string{labelService: name}),
		Spec: batchv1.JobSpec{
			CompletionMode: &indexed, Completions: &count, Parallelism: &count, BackoffLimit: &retries,
			Template: template,
		},
	}
}

// callerProcess is a process in a caller pod. It also exits when its pod does.
type callerProcess struct {
	*agent.Process
	cluster *Cluster
	pod     string
}

// Err says how the process exited, in which pod, and what happened to the pod.
func (p callerProcess) Err() error {
	err := p.Process.Err()
	if err == nil {
		return nil
	}
	description := "pod " + p.pod
	pods := p.cluster.watcher.all()
	if i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == p.pod }); i < 0 {
		description += " is gone"
	} else if fate := fateOf(pods[i]); fate != "" {
		description += " " + fate
	}
	return fmt.Errorf("%s: %w", description, err)
}

// fateOf says what happened to a pod; empty: it runs.
func fateOf(pod *corev1.Pod) string {
	if pod.Status.Reason == "Evicted" || pod.Status.Reason == "Preempting" {
		return fmt.Sprintf("was evicted (%s): %s", pod.Status.Reason, pod.Status.Message)
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		t := c.State.Terminated
		if t == nil {
			t = c.LastTerminationState.Terminated
		}
		if t != nil && t.Reason == oomKilled {
			return "was " + oomKilled
		}
	}
	if pod.DeletionTimestamp != nil {
		return "was deleted"
	}
	return ""
}
