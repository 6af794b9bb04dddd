package kubernetes

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"rpclab/internal/agent"
)

// posted is a program in a pod of a crew, which may end because the pod does.
type posted struct {
	*agent.Process
	cluster *Cluster
	pod     string
}

// Err says how the program ended, in which pod, and what became of that.
func (p posted) Err() error {
	err := p.Process.Err()
	if err == nil {
		return nil
	}
	fate := "pod " + p.pod
	pods := p.cluster.look.all()
	if i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == p.pod }); i < 0 {
		fate += " is gone"
	} else if became := fateOf(pods[i]); became != "" {
		fate += " " + became
	}
	return fmt.Errorf("%s: %w", fate, err)
}

// fateOf says what became of a pod; empty: it goes on.
func fateOf(pod *corev1.Pod) string {
	if pod.Status.Reason == "Evicted" || pod.Status.Reason == "Preempting" {
		return fmt.Sprintf("was taken away (%s): %s", pod.Status.Reason, pod.Status.Message)
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
