package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// syncTimeout is how long the first lists of the namespace may take.
const syncTimeout = 20 * time.Second

// watcher caches the pods, events and EndpointSlices of a namespace.
type watcher struct {
	stop    context.CancelFunc
	running sync.WaitGroup
	pods    corelisters.PodLister
	events  corelisters.EventLister
	slices  discoverylisters.EndpointSliceLister

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
}

// watch returns when the caches are filled.
func watch(ctx context.Context, api *API, namespace string) (*watcher, error) {
	pods, events, slices := api.client.CoreV1().Pods(namespace).Informer(""), api.client.CoreV1().Events(namespace).Informer(""), api.client.DiscoveryV1().EndpointSlices(namespace).Informer("")
	watching, stop := context.WithCancel(context.Background())
	cached := &watcher{
		stop: stop, changed: make(chan struct{}), pods: corelisters.NewPodLister(pods.GetIndexer()),
		events: corelisters.NewEventLister(events.GetIndexer()), slices: discoverylisters.NewEndpointSliceLister(slices.GetIndexer()),
	}
	informers := map[string]cache.SharedIndexInformer{"pods": pods, "events": events, "endpointslices": slices}
	for _, informer := range informers {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { cached.notify() }, UpdateFunc: func(any, any) { cached.notify() }, DeleteFunc: func(any) { cached.notify() },
		})
		if err != nil {
			cached.close()
			return nil, err
		}
		cached.running.Go(func() { informer.RunWithContext(watching) })
	}
	limit, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	for kind, informer := range informers {
		if !cache.WaitForCacheSync(limit.Done(), informer.HasSynced) {
			cached.close()
			return nil, fmt.Errorf("watch namespace %s: %s did not arrive: %w", namespace, kind, watchError(ctx, api, namespace))
		}
	}
	return cached, nil
}

// watchError lists once more, for the error that informers do not return.
func watchError(ctx context.Context, api *API, namespace string) error {
	one := metav1.ListOptions{Limit: 1}
	if _, err := api.client.CoreV1().Pods(namespace).List(ctx, one); err != nil {
		return explain(err, namespace)
	}
	if _, err := api.client.CoreV1().Events(namespace).List(ctx, one); err != nil {
		return explain(err, namespace)
	}
	if _, err := api.client.DiscoveryV1().EndpointSlices(namespace).List(ctx, one); err != nil {
		return explain(err, namespace)
	}
	return context.Cause(ctx)
}

func (w *watcher) close() {
	w.stop()
	w.running.Wait()
}

func (w *watcher) notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

// change returns a channel that closes at the next change.
func (w *watcher) change() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// podsOf are the pods of a deployment or of callers, the oldest first.
func (w *watcher) podsOf(name string) []*corev1.Pod {
	found, _ := w.pods.List(labels.SelectorFromSet(labels.Set{labelService: name})) // from memory: it cannot fail
	slices.SortFunc(found, func(a, b *corev1.Pod) int {
		if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
	return found
}

// allPods are the pods of the namespace.
func (w *watcher) allPods() []*corev1.Pod {
	found, _ := w.pods.List(labels.Everything())
	return found
}

// slicesOf are the EndpointSlices of a service.
func (w *watcher) slicesOf(service string) []*discoveryv1.EndpointSlice {
	found, _ := w.slices.List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service}))
	return found
}

// warningsOf are the warnings about objects with this name or prefix.
func (w *watcher) warningsOf(name string) []*corev1.Event {
	return w.eventsOf(name, func(event *corev1.Event) bool { return event.Type == corev1.EventTypeWarning })
}

// unreadyOf are the failures of a pod's readiness probe.
func (w *watcher) unreadyOf(pod string) []*corev1.Event {
	return w.eventsOf(pod, func(event *corev1.Event) bool { return event.Reason == "Unhealthy" })
}

// pullsOf are the events of pods that began to pull an image.
func (w *watcher) pullsOf(name string) []*corev1.Event {
	return w.eventsOf(name, func(event *corev1.Event) bool { return event.Reason == "Pulling" })
}

// scaleUpsOf are what autoscalers say about pods that no node fits.
func (w *watcher) scaleUpsOf(name string) []*corev1.Event {
	return w.eventsOf(name, func(event *corev1.Event) bool {
		return slices.Contains(scaleUps, event.Reason) || event.Reason == noScaleUp
	})
}

// eventsOf are the selected events about objects with this name or prefix.
func (w *watcher) eventsOf(name string, selected func(*corev1.Event) bool) (about []*corev1.Event) {
	found, _ := w.events.List(labels.Everything())
	for _, event := range found {
		subject := event.InvolvedObject.Name
		if selected(event) && (subject == name || strings.HasPrefix(subject, name+"-")) {
			about = append(about, event)
		}
	}
	return about
}
