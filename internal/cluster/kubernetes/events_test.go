package kubernetes

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"rpclab/internal/cluster"
)

func TestScalingDownReturnsThePodsThatLeave(t *testing.T) {
	failed := backendPod("greeter-1-d", 4)
	failed.Status.Phase = corev1.PodFailed
	pods := []*corev1.Pod{backendPod("greeter-1-a", 1), backendPod("greeter-1-b", 2), backendPod("greeter-1-c", 3), failed}
	for name, test := range map[string]struct{ deleted, want []string }{
		"the newest that has not failed": {[]string{"greeter-1-c"}, []string{"greeter-1-c"}},
		"one that was not ready":         {[]string{"greeter-1-b"}, []string{"greeter-1-b"}},
		"unknown in time":                {nil, []string{"greeter-1-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watcher, update := watcherOf(pods...)
			api := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, "{}")
				if !strings.HasSuffix(r.URL.Path, "/deployments/greeter-1/scale") {
					return
				}
				for _, pod := range pods { // as the controller does
					if slices.Contains(test.deleted, pod.Name) {
						pod = pod.DeepCopy()
						pod.DeletionTimestamp = new(metav1.Now())
						update(pod)
					}
				}
			})
			d := &deployment{run: &run{api: api, watcher: watcher}, name: "greeter-1", replicas: map[types.UID]*replica{}}
			for _, pod := range pods {
				d.replicas[pod.UID] = newReplica(d.run, pod, cluster.Spec{})
			}
			if left, err := d.Scale(t.Context(), 2); err != nil || !slices.Equal(left, test.want) {
				t.Errorf("scaling from 3 to 2 returns %v, %v; want %v", left, err, test.want)
			}
		})
	}
}

// Other goroutines read the deployment's spec meanwhile.
func TestARolloutToAnotherAPIReplacesArgumentsInPodsOnly(t *testing.T) {
	var patched string
	api := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		patched = string(body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "{}")
	})
	watcher, _ := watcherOf()
	spec := cluster.Spec{Args: []string{"--api", "v1"}, NextArgs: []string{"--api", "v2"}}
	d := &deployment{run: &run{api: api, watcher: watcher, objectScope: testScope}, name: "greeter-1", spec: spec}
	if _, err := d.Rollout(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(patched, `"--api","v2"`) {
		t.Errorf("the Deployment is changed by %s, want the arguments --api v2", patched)
	}
	if !slices.Equal(d.spec.Args, []string{"--api", "v1"}) {
		t.Errorf("the arguments of the spec are %q, want them as before", d.spec.Args)
	}
}

// backendPod returns a pod of the deployment greeter-1 that was created at a second.
func backendPod(name string, created int64) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), Labels: map[string]string{labelService: "greeter-1"}, CreationTimestamp: metav1.Unix(created, 0),
	}}
}

// watcherOf returns a watcher that knows some pods. update changes one of them.
func watcherOf(pods ...*corev1.Pod) (w *watcher, update func(*corev1.Pod)) {
	known := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, pod := range pods {
		_ = known.Add(pod)
	}
	w = &watcher{changed: make(chan struct{}), pods: corelisters.NewPodLister(known)}
	return w, func(pod *corev1.Pod) {
		_ = known.Update(pod)
		w.notify()
	}
}
