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
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// firstLook is how long it may take to see the namespace for the first time.
const firstLook = 20 * time.Second

// lookout sees what happens in a namespace.
type lookout struct {
	factory informers.SharedInformerFactory
	stop    chan struct{}
	pods    corelisters.PodLister
	events  corelisters.EventLister
	slices  discoverylisters.EndpointSliceLister

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
}

// watch returns when everything there is has been seen once.
func watch(ctx context.Context, api *API, namespace string) (*lookout, error) {
	f := informers.NewSharedInformerFactoryWithOptions(api.client, 0, informers.WithNamespace(namespace))
	l := &lookout{factory: f, stop: make(chan struct{}), changed: make(chan struct{})}
	pods, events, slices := f.Core().V1().Pods(), f.Core().V1().Events(), f.Discovery().V1().EndpointSlices()
	l.pods, l.events, l.slices = pods.Lister(), events.Lister(), slices.Lister()
	for _, informer := range []cache.SharedIndexInformer{pods.Informer(), events.Informer(), slices.Informer()} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { l.tell() }, UpdateFunc: func(any, any) { l.tell() }, DeleteFunc: func(any) { l.tell() },
		})
		if err != nil {
			return nil, err
		}
	}
	f.Start(l.stop)
	limit, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	for kind, seen := range f.WaitForCacheSync(limit.Done()) {
		if !seen {
			l.close()
			return nil, fmt.Errorf("see what happens in namespace %s: %v do not come: %w", namespace, kind, whyBlind(ctx, api, namespace))
		}
	}
	return l, nil
}

// whyBlind asks once more, for the reason that an informer keeps to itself.
func whyBlind(ctx context.Context, api *API, namespace string) error {
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

func (l *lookout) close() {
	close(l.stop)
	l.factory.Shutdown()
}

func (l *lookout) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

// change is closed at the next change.
func (l *lookout) change() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// podsOf are the pods of a deployment or crew, the oldest first.
func (l *lookout) podsOf(name string) []*corev1.Pod {
	found, _ := l.pods.List(labels.SelectorFromSet(labels.Set{labelService: name})) // of memory: it cannot fail
	slices.SortFunc(found, func(a, b *corev1.Pod) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return found
}

// all are the pods of the namespace.
func (l *lookout) all() []*corev1.Pod {
	found, _ := l.pods.List(labels.Everything())
	return found
}

// slicesOf are the EndpointSlices of a service.
func (l *lookout) slicesOf(service string) []*discoveryv1.EndpointSlice {
	found, _ := l.slices.List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service}))
	return found
}

// warningsOf are the warnings about what bears the name, or a name made from it.
func (l *lookout) warningsOf(name string) []*corev1.Event {
	return l.eventsOf(name, func(e *corev1.Event) bool { return e.Type == corev1.EventTypeWarning })
}

// pullsOf say which of its pods began to pull an image.
func (l *lookout) pullsOf(name string) []*corev1.Event {
	return l.eventsOf(name, func(e *corev1.Event) bool { return e.Reason == "Pulling" })
}

func (l *lookout) eventsOf(name string, of func(*corev1.Event) bool) (about []*corev1.Event) {
	found, _ := l.events.List(labels.Everything())
	for _, e := range found {
		on := e.InvolvedObject.Name
		if of(e) && (on == name || strings.HasPrefix(on, name+"-")) {
			about = append(about, e)
		}
	}
	return about
}
