package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// problem is why pods are not ready.
type problem struct {
	kind string // the cluster's reason, which stays the same while the problem lasts
	text string // what, where, and what to do
}

// imageReasons are why a container waits for its image.
var imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}

// startReasons are why a container that has its image does not start, or not for long.
var startReasons = []string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff", "StartError"}

// podEvents are warnings with information that the status of a pod does not have.
var podEvents = []string{"FailedMount", "FailedCreatePodSandBox", "FailedAttachVolume", "NetworkNotReady", "Evicted", "InspectFailed"}

// diagnose finds the problems of pods in their status and in warnings of the cluster; none:
// they need more time.
func diagnose(pods []*corev1.Pod, events []*corev1.Event, namespace string) []problem {
	var all []problem
	add := func(kind, format string, args ...any) {
		if !slices.ContainsFunc(all, func(t problem) bool { return t.kind == kind }) {
			all = append(all, problem{kind, fmt.Sprintf(format, args...)})
		}
	}
	waiting := map[string]bool{}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || ready(pod) {
			continue
		}
		waiting[pod.Name] = true
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
				add(c.Reason, "no node fits pod %s: %s\nSee `kubectl describe nodes`: add what is missing, or remove taints", pod.Name, c.Message)
			}
		}
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			diagnoseContainer(pod, c, add)
		}
	}
	for _, event := range newestFirst(events) {
		on := event.InvolvedObject
		switch {
		case event.Reason == "FailedCreate" && on.Kind != "Pod":
			text := fmt.Sprintf("%s %s cannot create its pods: %s", on.Kind, on.Name, event.Message)
			if advice := advise(event.Message, namespace); advice != "" {
				text += "\n" + advice
			}
			add(event.Reason, "%s", text)
		case on.Kind == "Pod" && waiting[on.Name] && slices.Contains(podEvents, event.Reason):
			add(event.Reason, "pod %s does not start: %s: %s", on.Name, event.Reason, event.Message)
		}
	}
	return all
}

func diagnoseContainer(pod *corev1.Pod, status corev1.ContainerStatus, add func(kind, format string, args ...any)) {
	if waiting := status.State.Waiting; waiting != nil {
		switch terminated := status.LastTerminationState.Terminated; {
		case terminated != nil && terminated.Reason == oomKilled:
			add("start", "%s", outOfMemory(pod))
		case slices.Contains(imageReasons, waiting.Reason):
			add("image", "pod %s cannot get the image %s (%s): %s\n"+
				"Push it to a registry that nodes can reach: `rpclab image build --push REGISTRY/NAME`, then --image REGISTRY/NAME; or load it on every node", pod.Name, status.Image, waiting.Reason, waiting.Message)
		case slices.Contains(startReasons, waiting.Reason):
			add("start", "container %s of pod %s does not start (%s): %s%s", status.Name, pod.Name, waiting.Reason, waiting.Message, lastEnd(status))
		}
	}
	if terminated := status.State.Terminated; terminated != nil && pod.Status.Phase == corev1.PodFailed {
		add("start", "container %s of pod %s exited: %s", status.Name, pod.Name, endOf(terminated))
	}
}

// lastEnd says how a container exited before.
func lastEnd(c corev1.ContainerStatus) string {
	if t := c.LastTerminationState.Terminated; t != nil {
		return "; it exited before: " + endOf(t)
	}
	return ""
}

func endOf(t *corev1.ContainerStateTerminated) string {
	said := fmt.Sprintf("%s, exit code %d", cmp.Or(t.Reason, "unknown reason"), t.ExitCode)
	if t.Message != "" {
		said += ": " + strings.TrimSpace(t.Message)
	}
	return said
}

// current removes outdated warnings, because events stay for an hour: warnings about pods that
// pulled their image later, and about pods that were not created, once all exist.
func current(pods []*corev1.Pod, warnings, pulls []*corev1.Event, wanted int) []*corev1.Event {
	live := 0
	for _, p := range pods {
		if p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed {
			live++
		}
	}
	return slices.DeleteFunc(slices.Clone(warnings), func(warning *corev1.Event) bool {
		if warning.InvolvedObject.Kind != "Pod" {
			return warning.Reason == "FailedCreate" && live >= wanted
		}
		return slices.ContainsFunc(pulls, func(later *corev1.Event) bool {
			return later.InvolvedObject.Name == warning.InvolvedObject.Name && when(later) > when(warning)
		})
	})
}

// when is the time of the last occurrence of an event, in nanoseconds.
func when(e *corev1.Event) int64 {
	return max(e.LastTimestamp.UnixNano(), e.EventTime.UnixNano(), e.CreationTimestamp.UnixNano())
}

func newestFirst(events []*corev1.Event) []*corev1.Event {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b *corev1.Event) int { return cmp.Compare(when(b), when(a)) })
	return sorted
}

func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// count formats the states of pods: 1 of 3 pods ready, 1 pulling, 1 pending.
func count(pods []*corev1.Pod, events []*corev1.Event, wanted int) string {
	pulling := map[string]bool{}
	for _, event := range events {
		if event.Reason == "Pulling" {
			pulling[event.InvolvedObject.Name] = true
		}
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
	for _, part := range []struct {
		n    int
		what string
	}{{starting, "starting"}, {fetching, "pulling its image"}, {pending, "pending"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}
