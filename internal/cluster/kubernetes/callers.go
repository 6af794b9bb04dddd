package kubernetes

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/agent"
	"rpclab/internal/cluster"
)

// maxShapes is how many shapes of callers keep their pods, for arms that need different
// pods in turn: idle pods cost little, and new ones take time to start.
const maxShapes = 4

// callerPool is the pods of callers. They serve trial after trial: start starts new processes in
// them.
type callerPool struct {
	run *run

	mu   sync.Mutex
	kept map[string][]*callerPods // by the name of the callers, the last used last
}

func newCallerPool(run *run) *callerPool {
	return &callerPool{run: run, kept: map[string][]*callerPods{}}
}

// callerPods is the pods of callers of one shape.
type callerPods struct {
	job   string // its name
	shape cluster.CallerSpec
}

// fits says whether the pods can run these callers. The arguments may differ: agents receive them at
// each start.
func (p *callerPods) fits(spec cluster.CallerSpec) bool {
	same := p.shape
	same.Args, same.Sidecar = spec.Args, spec.Sidecar
	return (p.shape.Sidecar == nil) == (spec.Sidecar == nil) && reflect.DeepEqual(same, spec)
}

// start starts processes in pods, and the pods if none of their shape exist.
func (p *callerPool) start(ctx context.Context, spec cluster.CallerSpec) (all []cluster.Caller, err error) {
	if spec.Count < 1 {
		return nil, fmt.Errorf("start %s: %d processes; at least 1 is needed", spec.Name, spec.Count)
	}
	if err := checkInstalled(ctx, p.run.api.client, spec.Mesh); err != nil {
		return nil, err
	}
	job, err := p.jobFor(ctx, spec)
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	err = p.run.awaitPods(ctx, job, spec.Count, podsTimeout, func() (bool, error) {
		pods = indexed(p.run.watcher.podsOf(job), spec.Count)
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
	for i, pod := range pods {
		if err := checkProxy(pod, spec.Mesh); err != nil {
			return all, err
		}
		name := fmt.Sprintf("%s-%d", spec.Name, i)
		main, err := p.run.startProcess(ctx, pod, mainPort, name, spec.Args)
		if err != nil {
			return all, err
		}
		all = append(all, cluster.Caller{Process: main})
		if spec.Sidecar == nil {
			continue
		}
		side, err := p.run.startProcess(ctx, pod, sidePort, name+"-sidecar", spec.Sidecar)
		if err != nil {
			return all, err
		}
		all[i].Sidecar = side
	}
	return all, nil
}

// startProcess starts a command of rpclab in a pod.
func (r *run) startProcess(ctx context.Context, pod *corev1.Pod, port int, name string, args []string) (cluster.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	process, err := r.attach(ctx, pod.Name, port, agent.Target{Name: name, Host: pod.Status.PodIP, Args: append([]string{"rpclab"}, args...)})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return callerProcess{process, pod.Name, r.watcher}, nil
}

// jobFor is the name of the job whose pods serve the callers. It removes the job that was
// unused the longest when there are too many.
func (p *callerPool) jobFor(ctx context.Context, spec cluster.CallerSpec) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.kept[spec.Name]
	if i := slices.IndexFunc(kept, func(pods *callerPods) bool { return pods.fits(spec) }); i >= 0 {
		found := kept[i]
		p.kept[spec.Name] = append(slices.Delete(kept, i, i+1), found)
		return found.job, nil
	}
	if len(kept) == maxShapes {
		if err := p.run.deleteJob(ctx, kept[0].job); err != nil {
			return "", err
		}
		kept = slices.Delete(kept, 0, 1)
		p.kept[spec.Name] = kept
	}
	created := &callerPods{job: p.run.uniqueName(spec.Name), shape: spec}
	if err := p.run.api.apply(ctx, callerJob(p.run.objectScope, created.job, spec)); err != nil {
		return "", err
	}
	p.kept[spec.Name] = append(kept, created)
	return created.job, nil
}

// deleteJob begins to delete a job with its pods.
func (r *run) deleteJob(ctx context.Context, name string) error {
	background := metav1.DeletePropagationBackground
	err := r.api.client.BatchV1().Jobs(r.namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	return explain(ignoreNotFound(err), r.namespace)
}

// indexed returns the ready pods of a job by index, or nil when some are missing.
func indexed(pods []*corev1.Pod, count int) []*corev1.Pod {
	all := make([]*corev1.Pod, count)
	found := 0
	for _, pod := range pods {
		i, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
		if err == nil && i < count && ready(pod) && all[i] == nil {
			all[i] = pod
			found++
		}
	}
	if found < count {
		return nil
	}
	return all
}

// callerProcess is a process in a caller pod. It also exits when its pod does.
type callerProcess struct {
	*agent.Process
	pod     string // its name
	watcher *watcher
}

// Err says how the process exited, in which pod, and what happened to the pod.
func (p callerProcess) Err() error {
	err := p.Process.Err()
	if err == nil {
		return nil
	}
	description := "pod " + p.pod
	pods := p.watcher.allPods()
	if i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == p.pod }); i < 0 {
		description += " is gone"
	} else if fate := fateOf(pods[i]); fate != "" {
		description += " " + fate
	}
	return fmt.Errorf("%s: %w", description, err)
}
