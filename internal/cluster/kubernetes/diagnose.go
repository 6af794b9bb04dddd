package kubernetes

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// problem is why pods are not ready.
type problem struct {
	kind string // the cluster's reason, or one of the kinds below, which stays the same while the problem lasts
	text string // what, where, and what to do
	// repairing says that the cluster is pulling the image again or adding a node. Such a problem does not end the wait.
	repairing bool
}

// Kinds of problems of containers.
const (
	problemImage = "image" // the node does not have the image
	problemStart = "start" // the container does not start, or has exited; the kubelet starts it again
	problemExit  = "exit"  // the container has exited again after a restart, or its pod is not restarted
)

const (
	// persistence is how long a problem must last before the wait ends: some are transient.
	persistence = 8 * time.Second
	// retryPersistence is persistence for what the cluster tries again. A kubelet pulls an image and starts a container again
	// after 10 s and a look at the pod.
	retryPersistence = 20 * time.Second
	// unschedulablePersistence is persistence for a pod without a node. Autoscalers look for one every 10 s, and say that they
	// add a node only after they have asked the cloud for it.
	unschedulablePersistence = time.Minute
)

// patience is how long the problem must last.
func (p problem) patience() time.Duration {
	switch p.kind {
	case problemImage, problemStart:
		return retryPersistence
	case corev1.PodReasonUnschedulable:
		return unschedulablePersistence
	}
	return persistence
}

// imageReasons are why a container waits for its image.
var imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}

// startReasons are why a container that has its image does not start, or not for long.
var startReasons = []string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff", "StartError"}

// podEvents are warnings with information that the status of a pod does not have.
var podEvents = []string{"FailedMount", "FailedCreatePodSandBox", "FailedAttachVolume", "NetworkNotReady", "Evicted", "InspectFailed"}

// scaleUps are the events of a pod for which an autoscaler adds a node: the Cluster Autoscaler, and Karpenter. noScaleUp
// is that of a pod for which it does not.
var scaleUps = []string{"TriggeredScaleUp", "Nominated"}

const noScaleUp = "NotTriggerScaleUp"

// slowKubelet matches the warnings of a busy kubelet that has not read a secret or a config map yet, and tries again. One
// that does not exist has another message.
var slowKubelet = regexp.MustCompile("failed to sync (secret|configmap) cache")

// diagnose finds the problems of pods in their status and in events of the cluster, which are current warnings, pulls of
// images and scale-ups; none: they need more time.
func diagnose(pods []*corev1.Pod, events []*corev1.Event, namespace string) []problem {
	var all []problem
	addOf := func(kind string, repairing bool, format string, args ...any) {
		added := problem{kind, fmt.Sprintf(format, args...), repairing}
		switch i := slices.IndexFunc(all, func(found problem) bool { return found.kind == kind }); {
		case i < 0:
			all = append(all, added)
		case all[i].repairing && !repairing: // of another pod
			all[i] = added
		}
	}
	add := func(kind, format string, args ...any) { addOf(kind, false, format, args...) }
	waiting := map[string]bool{}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || ready(pod) {
			continue
		}
		waiting[pod.Name] = true
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable {
				addOf(condition.Reason, getsNode(pod, events), "no node fits pod %s: %s\nSee `kubectl describe nodes`: add what is missing, or remove taints", pod.Name, condition.Message)
			}
		}
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			diagnoseContainer(pod, status, func(kind, format string, args ...any) {
				addOf(kind, kind == problemImage && pulls(pod, events), format, args...)
			})
		}
	}
	for _, event := range newestFirst(events) {
		subject := event.InvolvedObject
		switch {
		case event.Reason == "FailedCreate" && subject.Kind != "Pod":
			text := fmt.Sprintf("%s %s cannot create its pods: %s", subject.Kind, subject.Name, event.Message)
			if advice := advise(event.Message, namespace); advice != "" {
				text += "\n" + advice
			}
			add(event.Reason, "%s", text)
		case subject.Kind == "Pod" && waiting[subject.Name] && slices.Contains(podEvents, event.Reason) && !slowKubelet.MatchString(event.Message):
			add(event.Reason, "pod %s does not start: %s: %s", subject.Name, event.Reason, event.Message)
		}
	}
	return all
}

// diagnoseContainer adds why a container does not start, or has exited.
func diagnoseContainer(pod *corev1.Pod, status corev1.ContainerStatus, add func(kind, format string, args ...any)) {
	if waiting := status.State.Waiting; waiting != nil {
		switch terminated := status.LastTerminationState.Terminated; {
		case terminated != nil && terminated.Reason == oomKilled:
			add(problemExit, "%s", outOfMemory(pod))
		case slices.Contains(imageReasons, waiting.Reason):
			remedy := "Push it to a registry that nodes can reach: `rpclab image build --push REGISTRY/NAME`, then --image REGISTRY/NAME; or load it on every node, with a tag other than latest"
			if pod.Labels[labelRole] == roleProgram {
				remedy = "Check the name of the image, and that nodes can reach its registry and may pull it; or load it on every node, with a tag other than latest"
			}
			add(problemImage, "pod %s cannot get the image %s (%s): %s\n%s", pod.Name, status.Image, waiting.Reason, waiting.Message, remedy)
		case slices.Contains(startReasons, waiting.Reason):
			kind := problemStart
			if waiting.Reason == "CrashLoopBackOff" && status.RestartCount > 1 { // the kubelet waits from the second restart on
				kind = problemExit
			}
			add(kind, "container %s of pod %s does not start (%s): %s%s", status.Name, pod.Name, waiting.Reason, waiting.Message, lastExit(status))
		}
	}
	if terminated := status.State.Terminated; terminated != nil && pod.Status.Phase == corev1.PodFailed {
		add(problemExit, "container %s of pod %s exited: %s", status.Name, pod.Name, howExited(terminated))
	}
}

// getsNode says whether the scheduler makes room for a pod, or an autoscaler adds a node for it.
func getsNode(pod *corev1.Pod, events []*corev1.Event) bool {
	for _, event := range newestFirst(events) {
		if event.InvolvedObject.Name == pod.Name && (event.Reason == noScaleUp || slices.Contains(scaleUps, event.Reason)) {
			return event.Reason != noScaleUp || pod.Status.NominatedNodeName != ""
		}
	}
	return pod.Status.NominatedNodeName != ""
}

// pulls says whether a node is pulling an image of the pod, by its events since the last pull began.
func pulls(pod *corev1.Pod, events []*corev1.Event) (began bool) {
	for _, event := range events {
		switch {
		case event.InvolvedObject.Name != pod.Name:
		case event.Reason == "Failed":
			return false
		case event.Reason == "Pulling":
			began = true
		}
	}
	return began
}

// lastExit says how a container exited before.
func lastExit(status corev1.ContainerStatus) string {
	if terminated := status.LastTerminationState.Terminated; terminated != nil {
		return "; it exited before: " + howExited(terminated)
	}
	return ""
}

// current removes outdated warnings, because events stay for an hour: warnings about pods that
// pulled their image later, and about pods that were not created, once all exist.
func current(pods []*corev1.Pod, warnings, pulls []*corev1.Event, wanted int) []*corev1.Event {
	live := 0
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed {
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
func when(event *corev1.Event) int64 {
	return max(event.LastTimestamp.UnixNano(), event.EventTime.UnixNano(), event.CreationTimestamp.UnixNano())
}

func newestFirst(events []*corev1.Event) []*corev1.Event {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b *corev1.Event) int { return cmp.Compare(when(b), when(a)) })
	return sorted
}
