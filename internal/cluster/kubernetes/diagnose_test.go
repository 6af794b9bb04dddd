package kubernetes

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"rpclab/internal/cluster"
)

func pod(change func(*corev1.Pod)) *corev1.Pod {
	changed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "greeter-1-a", Namespace: "ns"}}
	change(changed)
	return changed
}

func waiting(reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: mainContainer, Image: "rpclab:v1",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
}

func warning(kind, name, reason, message string) *corev1.Event {
	return &corev1.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message, InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name}}
}

func TestDiagnoseNamesReasonAndRemedy(t *testing.T) {
	pending := pod(func(*corev1.Pod) {})
	for name, test := range map[string]struct {
		pod    *corev1.Pod
		events []*corev1.Event
		want   []string // parts of the diagnosis; nil: no diagnosis
	}{
		"an image that cannot be pulled": {
			pod(waiting("ImagePullBackOff", "Back-off pulling")), nil, []string{"image rpclab:v1", "rpclab image build --push", "load it on every node"},
		},
		"a quota that demands limits": {
			nil, []*corev1.Event{warning("ReplicaSet", "greeter-1-x", "FailedCreate", `pods "a" is forbidden: failed quota: team: must specify limits.cpu for: main; limits.memory for: main`)},
			[]string{"failed quota: team", "A quota of the namespace demands requests or limits that these pods do not have: add a LimitRange with defaults"},
		},
		"a quota": {
			nil, []*corev1.Event{warning("ReplicaSet", "greeter-1-x", "FailedCreate", `pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0`)},
			[]string{"ReplicaSet greeter-1-x", "exceeded quota: q", "kubectl describe quota -n ns"},
		},
		"pod security": {
			nil, []*corev1.Event{warning("Job", "caller-1", "FailedCreate", `pods "a" is forbidden: violates PodSecurity "restricted:latest"`)}, []string{"enforce the restricted Pod Security Standard"},
		},
		"an account without permission": {
			nil, []*corev1.Event{warning("Job", "caller-1", "FailedCreate", `pods is forbidden: User "u" cannot create resource "pods" in API group "" in the namespace "ns"`)},
			[]string{"kubectl auth can-i create pods -n ns"},
		},
		"a taint": {
			pod(func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
					Message: "0/2 nodes are available: 2 node(s) had untolerated taint {k: v}."}}
			}), nil, []string{"untolerated taint {k: v}", "kubectl describe nodes"},
		},
		"a volume": {
			pending, []*corev1.Event{warning("Pod", "greeter-1-a", "FailedMount", `secret "agents" not found`)}, []string{`secret "agents" not found`},
		},
		"a busy kubelet that mounts what a mesh needs": {
			pending, []*corev1.Event{warning("Pod", "greeter-1-a", "FailedMount", `MountVolume.SetUp failed for volume "istiod-ca-cert" : failed to sync configmap cache: timed out waiting for the condition`)}, nil,
		},
		"a busy kubelet": {
			pending, []*corev1.Event{warning("Pod", "greeter-1-a", "FailedMount", `MountVolume.SetUp failed for volume "token" : failed to sync secret cache: timed out waiting for the condition`)}, nil,
		},
		"too little memory to start": {
			pod(func(pod *corev1.Pod) {
				waiting("CrashLoopBackOff", "back-off")(pod)
				pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
				pod.Spec.Containers = []corev1.Container{{Name: mainContainer, Resources: resources(0, 16<<20)}}
			}), nil, []string{"OOMKilled", "16Mi", "server.memory"},
		},
		"a pending pod without a warning": {pending, nil, nil},
		"an old warning about a ready pod": {
			pod(func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}), []*corev1.Event{warning("Pod", "greeter-1-a", "FailedMount", "later")}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []*corev1.Pod
			if test.pod != nil {
				pods = append(pods, test.pod)
			}
			got := texts(diagnose(pods, test.events, "ns"))
			if (got == "") != (test.want == nil) {
				t.Fatalf("the diagnosis is %q, want %q", got, test.want)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("the diagnosis is %q, want %q in it", got, want)
				}
			}
		})
	}
}

func TestProblemIsReportedOnceItPersists(t *testing.T) {
	since, start := map[string]time.Time{}, time.Unix(0, 0)
	quota := []problem{{kind: "FailedCreate", text: "text"}}
	for _, step := range []struct {
		after    time.Duration
		problems []problem
		want     int // number of problems
	}{{0, quota, 0}, {persistence - 1, quota, 0}, {persistence, quota, 1}, {persistence + 1, nil, 0}, {persistence + 2, quota, 0}} {
		if got := persisting(since, step.problems, start.Add(step.after)); len(got) != step.want {
			t.Errorf("after %v the problems are %v, want %d", step.after, got, step.want)
		}
	}
}

// A kubelet pulls and starts again after 10 s, and an autoscaler needs a minute or two to add a node.
func TestProblemsThatTheClusterSolvesAreNotReported(t *testing.T) {
	unschedulable := func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	restarted := func(count int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			waiting("CrashLoopBackOff", "back-off")(pod)
			pod.Status.ContainerStatuses[0].RestartCount = count
		}
	}
	at := func(second int64, reason string) *corev1.Event {
		e := warning("Pod", "greeter-1-a", reason, "")
		if reason != "Failed" {
			e.Type = corev1.EventTypeNormal
		}
		e.Name, e.LastTimestamp = fmt.Sprint(reason, second), metav1.Unix(second, 0)
		return e
	}
	const never = 0
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		events []*corev1.Event
		after  time.Duration // of the report
	}{
		{"a pull that failed", waiting("ErrImagePull", "429"), []*corev1.Event{at(1, "Pulling"), at(1, "Failed")}, retryPersistence},
		{"a second pull", waiting("ImagePullBackOff", "429"), []*corev1.Event{at(1, "Failed"), at(13, "Pulling")}, never},
		{"a second pull that failed", waiting("ErrImagePull", "429"), []*corev1.Event{at(13, "Pulling"), at(14, "Failed")}, retryPersistence},
		{"a name that is no image", waiting("InvalidImageName", "X"), nil, retryPersistence},
		{"a server that exited twice", restarted(1), nil, retryPersistence},
		{"a server that exited three times", restarted(2), nil, persistence},
		{"no node", unschedulable, nil, unschedulablePersistence},
		{"a node that will come", unschedulable, []*corev1.Event{at(1, "TriggeredScaleUp")}, never},
		{"a node of Karpenter", unschedulable, []*corev1.Event{at(1, "Nominated")}, never},
		{"no node after all", unschedulable, []*corev1.Event{at(1, "TriggeredScaleUp"), at(2, "NotTriggerScaleUp")}, unschedulablePersistence},
		{"room on a node", func(pod *corev1.Pod) { unschedulable(pod); pod.Status.NominatedNodeName = "node-1" }, nil, never},
	} {
		t.Run(c.name, func(t *testing.T) {
			affected := pod(c.change)
			watcher, _ := watcherOf(affected)
			watcher.events = eventsOf(c.events...)
			r := &run{watcher: watcher}
			since, start := map[string]time.Time{}, time.Unix(0, 0)
			for _, after := range []time.Duration{0, persistence - 1, persistence, retryPersistence - 1, retryPersistence, unschedulablePersistence - 1, unschedulablePersistence, podsTimeout} {
				reported := len(persisting(since, r.problems("greeter-1", []*corev1.Pod{affected}, 1), start.Add(after))) > 0
				if want := c.after != never && after >= c.after; reported != want {
					t.Errorf("after %s the problem is reported: %t, want %t", after, reported, want)
				}
			}
		})
	}
}

func imageAndNode(pod *corev1.Pod) (name, id, node string) {
	name, id = imageOf(pod)
	return name, id, pod.Spec.NodeName
}

func TestPodsWithDifferentImagesOfOneName(t *testing.T) {
	var seen images
	for _, c := range []struct{ node, name, id, want string }{
		{"one", "shop/orders:main", "sha256:a", ""},
		{"two", "shop/orders:main", "sha256:a", ""},
		{"three", "shop/orders:main", "", ""}, // not pulled yet
		{"one", "shop/orders:next", "sha256:b", ""},
		{"two", "shop/orders:main", "sha256:b", "2 different images with the name shop/orders:main: sha256:a on node one, sha256:b on node two."},
		{"two", "shop/orders:main", "sha256:b", ""}, // known
	} {
		text := seen.add(imageAndNode(pod(func(pod *corev1.Pod) {
			pod.Spec.NodeName = c.node
			pod.Spec.Containers = []corev1.Container{{Name: mainContainer, Image: c.name}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "log", ImageID: "sha256:c"}, {Name: mainContainer, ImageID: c.id}}
		})))
		if (text != "") != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%v: %q", c, text)
		}
	}
	want := map[string][]string{"shop/orders:main": {"sha256:a", "sha256:b"}, "shop/orders:next": {"sha256:b"}}
	if diff := cmp.Diff(want, seen.ids()); diff != "" {
		t.Errorf("IDs by name (-want +got):\n%s", diff)
	}
}

func TestUnexpectedExitIsReportedOnce(t *testing.T) {
	exited := pod(func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: mainContainer, RestartCount: 1,
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}}}}
		pod.Spec.Containers = []corev1.Container{{Name: mainContainer, Resources: resources(0, 64<<20)}}
	})
	failures := unexpectedExits(exited, nil, false)
	if want := "pod greeter-1-a was OOMKilled: its memory limit is 64Mi; raise server.memory (rpclab lab up: --memory)"; len(failures) != 1 || failures[0] != want {
		t.Errorf("failures %q, want %q", failures, want)
	}
	if again := unexpectedExits(exited, exits(exited), false); again != nil {
		t.Errorf("the same exit is reported again: %q", again)
	}
	if stopped := unexpectedExits(exited, nil, true); stopped != nil {
		t.Errorf("the exit of a stopped pod is the failure %q, want none", stopped)
	}
	evicted := pod(func(pod *corev1.Pod) {
		pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", "the node was low on memory"
	})
	failures = unexpectedExits(evicted, nil, false)
	if want := "pod greeter-1-a was evicted (Evicted): the node was low on memory"; len(failures) != 1 || failures[0] != want {
		t.Errorf("failures %q, want %q", failures, want)
	}
	if again := unexpectedExits(evicted, exits(evicted), false); again != nil {
		t.Errorf("the same eviction is reported again: %q", again)
	}
}

func TestTheContainerThatExitedIsNamed(t *testing.T) {
	exited := func(name string, restarts int32, code int32) corev1.ContainerStatus {
		status := corev1.ContainerStatus{Name: name, RestartCount: restarts}
		if restarts > 0 {
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: code}
		}
		return status
	}
	of := func(all ...corev1.ContainerStatus) *corev1.Pod {
		return pod(func(pod *corev1.Pod) { pod.Status.ContainerStatuses = all })
	}
	noted := exits(of(exited(proxyContainer, 1, 9), exited(mainContainer, 0, 0)))
	for name, test := range map[string]struct {
		proxy, main corev1.ContainerStatus
		want        string
	}{
		"the server, after the fault proxy": {exited(proxyContainer, 1, 9), exited(mainContainer, 1, 3),
			"the server of pod greeter-1-a exited unexpectedly: Error, exit code 3"},
		"the fault proxy, again": {exited(proxyContainer, 2, 7), exited(mainContainer, 0, 0),
			"the fault proxy of pod greeter-1-a exited unexpectedly: Error, exit code 7"},
		"both": {exited(proxyContainer, 2, 7), exited(mainContainer, 1, 3),
			"the fault proxy of pod greeter-1-a exited unexpectedly: Error, exit code 7; the server of pod greeter-1-a exited unexpectedly: Error, exit code 3"},
		"none": {exited(proxyContainer, 1, 9), exited(mainContainer, 0, 0), ""},
	} {
		if got := strings.Join(unexpectedExits(of(test.proxy, test.main), noted, false), "; "); got != test.want {
			t.Errorf("%s: the failures are %q, want %q", name, got, test.want)
		}
	}
}

// Events stay for an hour, so a warning that pods were not created applies only while there are fewer pods than there should
// be now.
func TestPodsThatTheClusterDoesNotCreateAreFailures(t *testing.T) {
	refused := warning("ReplicaSet", "greeter-1-x", "FailedCreate", `pods "a" is forbidden: exceeded quota: q`)
	for name, test := range map[string]struct {
		replicas, scaled, pods int
		want                   bool
	}{
		"scaled beyond a quota":                 {3, 10, 5, true},
		"scaled down after a transient problem": {3, 2, 2, false},
		"as many as at the beginning":           {3, 3, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []*corev1.Pod
			for i := range test.pods {
				pods = append(pods, backendPod(fmt.Sprint("greeter-1-", i), int64(i)))
			}
			watcher, _ := watcherOf(pods...)
			watcher.events = eventsOf(refused)
			api := fakeAPI(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, "{}")
			})
			d := &deployment{run: &run{api: api, watcher: watcher}, name: "greeter-1", spec: cluster.Spec{Replicas: test.replicas}}
			if _, err := d.Scale(t.Context(), test.scaled); err != nil {
				t.Fatal(err)
			}
			if failures := d.Failures(); (len(failures) > 0) != test.want {
				t.Errorf("the failures are %q, want the quota in them: %t", failures, test.want)
			}
		})
	}
}

// eventsOf lists some events.
func eventsOf(all ...*corev1.Event) corelisters.EventLister {
	known := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, event := range all {
		_ = known.Add(event)
	}
	return corelisters.NewEventLister(known)
}
