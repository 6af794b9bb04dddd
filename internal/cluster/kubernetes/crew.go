package kubernetes

import (
	"context"
	"fmt"
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

// attendance is how long the agent of a running pod may take to be there.
const attendance = 30 * time.Second

// mostCrews is how many crews of one name keep their pods, each of another shape: as many
// as arms take in turns, since idle pods cost little and new ones their start.
const mostCrews = 4

// crew is the pods of one, which serve trial after trial: every Run starts fresh programs
// in them.
type crew struct {
	name  string // of its job
	shape cluster.Crew
}

// same says whether pods of one crew serve another: what they run is told to their agents.
func (c *crew) same(w cluster.Crew) bool {
	of := c.shape
	of.Args, of.Sidecar = w.Args, w.Sidecar
	return (c.shape.Sidecar == nil) == (w.Sidecar == nil) && reflect.DeepEqual(of, w)
}

// Run starts programs in the pods of a crew, and the pods if there are none of its shape.
func (c *Cluster) Run(ctx context.Context, w cluster.Crew) (all []cluster.Member, err error) {
	if w.Count < 1 {
		return nil, fmt.Errorf("run %s: a crew of %d; at least 1 is needed", w.Name, w.Count)
	}
	if err := c.mesh(ctx, w.Mesh); err != nil {
		return nil, err
	}
	job, err := c.jobFor(ctx, w)
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	err = c.awaitPods(ctx, job, w.Count, func() (bool, error) {
		pods = indexed(c.look.podsOf(job), w.Count)
		return pods != nil, nil
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, m := range all {
				m.Kill()
				if m.Sidecar != nil {
					m.Sidecar.Kill()
				}
			}
			all = nil
		}
	}()
	for n, pod := range pods {
		if w.Mesh != "" {
			if err := checkProxy(pod, w.Mesh); err != nil {
				return all, err
			}
		}
		name := fmt.Sprintf("%s-%d", w.Name, n)
		main, err := c.begin(ctx, pod, mainPort, name, w.Args)
		if err != nil {
			return all, err
		}
		all = append(all, cluster.Member{Process: main})
		if w.Sidecar == nil {
			continue
		}
		side, err := c.begin(ctx, pod, sidePort, name+"-sidecar", w.Sidecar)
		if err != nil {
			return all, err
		}
		all[n].Sidecar = side
	}
	return all, nil
}

// begin starts a command of rpclab in a pod.
func (c *Cluster) begin(ctx context.Context, pod *corev1.Pod, port int, name string, args []string) (cluster.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, attendance)
	defer cancel()
	p, err := c.attend(ctx, pod.Name, port, agent.Place{Name: name, Host: pod.Status.PodIP, Args: append([]string{"rpclab"}, args...)})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return posted{p, c, pod.Name}, nil
}

// jobFor is the name of the job whose pods serve the crew. Where there are too many jobs
// for its name, the one goes that was not needed for longest.
func (c *Cluster) jobFor(ctx context.Context, w cluster.Crew) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.crews[w.Name]
	if at := slices.IndexFunc(kept, func(k *crew) bool { return k.same(w) }); at >= 0 {
		known := kept[at]
		c.crews[w.Name] = append(slices.Delete(kept, at, at+1), known)
		return known.name, nil
	}
	if len(kept) == mostCrews {
		background := metav1.DeletePropagationBackground
		if err := gone(c.api.client.BatchV1().Jobs(c.namespace).Delete(ctx, kept[0].name, metav1.DeleteOptions{PropagationPolicy: &background})); err != nil {
			return "", explain(err, c.namespace)
		}
		kept = slices.Delete(kept, 0, 1)
		c.crews[w.Name] = kept
	}
	c.deployed++
	made := &crew{name: fmt.Sprintf("%s-%d", w.Name, c.deployed), shape: w}
	if err := c.api.apply(ctx, crewJob(c.place(), made.name, w)); err != nil {
		return "", err
	}
	c.crews[w.Name] = append(kept, made)
	return made.name, nil
}

// indexed are the ready pods of a job in the order of their indices; nil: some are missing.
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

func (c *Cluster) place() place { return place{namespace: c.namespace, run: c.ID, image: c.Image} }
