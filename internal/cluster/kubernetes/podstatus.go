package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// oomKilled is the reason of a container that was killed at its memory limit.
const oomKilled = "OOMKilled"

// ready says whether a pod is ready and not being deleted.
func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// countStates formats the states of pods: 1 of 3 pods ready, 1 pulling its image, 1 pending. A pod
// may have begun to pull its image (pulls) before it runs.
func countStates(pods []*corev1.Pod, pulls []*corev1.Event, wanted int) string {
	pulling := map[string]bool{}
	for _, event := range pulls {
		pulling[event.InvolvedObject.Name] = true
	}
	var readyCount, fetching, starting, pending int
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
		case ready(pod):
			readyCount++
		case pod.Status.Phase == corev1.PodRunning:
			starting++
		case pulling[pod.Name]:
			fetching++
		default:
			pending++
		}
	}
	text := fmt.Sprintf("%d of %d pods ready", readyCount, wanted)
	for _, state := range []struct {
		count int
		name  string
	}{{starting, "starting"}, {fetching, "pulling its image"}, {pending, "pending"}} {
		if state.count > 0 {
			text += fmt.Sprintf(", %d %s", state.count, state.name)
		}
	}
	return text
}

// serverOf is the name of the container with the server.
func serverOf(pod *corev1.Pod) string { return cmp.Or(pod.Annotations[noteContainer], mainContainer) }

// imageOf is the image of the pod's server: its name in the pod, and its ID, which is empty until it is pulled.
func imageOf(pod *corev1.Pod) (name, id string) {
	server := serverOf(pod)
	for _, container := range pod.Spec.Containers {
		if container.Name == server {
			name = container.Image
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == server {
			id = status.ImageID
		}
	}
	return name, id
}

// containerRuns says whether a container of the pod runs.
func containerRuns(pod *corev1.Pod, name string) bool {
	i := slices.IndexFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool { return status.Name == name })
	return i >= 0 && pod.Status.ContainerStatuses[i].State.Running != nil
}

// serverRuns says whether the server of the pod runs.
func serverRuns(pod *corev1.Pod) bool { return containerRuns(pod, serverOf(pod)) }

// counted says what a container is whose exits matter; empty: another one.
func counted(pod *corev1.Pod, container string) string {
	switch container {
	case serverOf(pod):
		return "server"
	case proxyContainer:
		return "fault proxy"
	}
	return ""
}

// byEviction is the name in [exits] of an eviction, which ends all containers.
const byEviction = ""

// exits is how often the pod's server, and the fault proxy before it, have exited, by the name of the container.
func exits(pod *corev1.Pod) map[string]int32 {
	counts := map[string]int32{}
	if eviction(pod) != "" {
		counts[byEviction] = 1
	}
	for _, status := range pod.Status.ContainerStatuses {
		n := status.RestartCount
		if status.State.Terminated != nil {
			n++
		}
		if counted(pod, status.Name) != "" && n > 0 {
			counts[status.Name] = n
		}
	}
	return counts
}

// unexpectedExits describes how the pod's server, or its fault proxy, exited, if it exited more often than noted. A
// stopped pod may exit in any way but by an eviction.
func unexpectedExits(pod *corev1.Pod, noted map[string]int32, stopped bool) (failures []string) {
	now := exits(pod)
	switch {
	case now[byEviction] > noted[byEviction]:
		return []string{fmt.Sprintf("pod %s %s", pod.Name, eviction(pod))}
	case now[byEviction] > 0 || stopped:
		return nil
	}
	for _, status := range pod.Status.ContainerStatuses {
		terminated := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated)
		if terminated == nil || now[status.Name] <= noted[status.Name] {
			continue
		}
		what := counted(pod, status.Name)
		if terminated.Reason == oomKilled && status.Name == serverOf(pod) {
			failures = append(failures, outOfMemory(pod))
		} else {
			failures = append(failures, fmt.Sprintf("the %s of pod %s exited unexpectedly: %s", what, pod.Name, howExited(terminated)))
		}
	}
	return failures
}

// fateOf says what happened to a pod; empty: it runs.
func fateOf(pod *corev1.Pod) string {
	if evicted := eviction(pod); evicted != "" {
		return evicted
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		terminated := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated)
		if terminated != nil && terminated.Reason == oomKilled {
			return "was " + oomKilled
		}
	}
	if pod.DeletionTimestamp != nil {
		return "was deleted"
	}
	return ""
}

// eviction says why a pod was evicted; empty: it was not.
func eviction(pod *corev1.Pod) string {
	if pod.Status.Reason != "Evicted" && pod.Status.Reason != "Preempting" {
		return ""
	}
	return fmt.Sprintf("was evicted (%s): %s", pod.Status.Reason, pod.Status.Message)
}

// howExited is the reason, exit code and last message of a container.
func howExited(terminated *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("%s, exit code %d", cmp.Or(terminated.Reason, "unknown reason"), terminated.ExitCode)
	if terminated.Message != "" {
		text += ": " + strings.TrimSpace(terminated.Message)
	}
	return text
}

// outOfMemory says which pod exceeded its memory limit.
func outOfMemory(pod *corev1.Pod) string {
	return fmt.Sprintf("pod %s was %s: its memory limit is %s; raise server.memory (rpclab lab up: --memory)", pod.Name, oomKilled, limitOf(pod))
}

// limitOf is the memory limit of a pod's server.
func limitOf(pod *corev1.Pod) string {
	for _, container := range pod.Spec.Containers {
		if limit, ok := container.Resources.Limits[corev1.ResourceMemory]; ok && container.Name == serverOf(pod) {
			return limit.String()
		}
	}
	return "that of its node"
}
