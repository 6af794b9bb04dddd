// Package endpointslice follows the endpoints of one service through the EndpointSlice
// API (discovery.k8s.io/v1), by client-go's reflector. [ResolverBuilder] makes gRPC name
// resolvers that read what a [Watcher] knows.
package endpointslice

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/kubernetes/clientset"
)

// State is what a watcher knows.
type State struct {
	Usable Set
	// Synced is true once the API has answered. Usable stays as it is while the API cannot
	// be reached.
	Synced bool
	Err    error // why it is not synced yet
}

// Watcher holds the usable endpoints of one service. One watch keeps them current for
// all readers of a process.
type Watcher struct {
	client *http.Client // nil: the API cannot be asked from here
	cancel context.CancelFunc
	done   chan struct{}
	// failures buffers one error.
	failures chan error

	mu      sync.Mutex
	slices  map[string]*discovery.EndpointSlice // by name
	state   State
	changed chan struct{} // closed and replaced at every change
	failing bool          // the API has answered, and the last request failed
}

// A watcher waits firstBackoff, and up to half as long more, before it lists again after a watch that
// broke. Each further wait is twice as long, until backoffReset has passed since the first.
const (
	firstBackoff   = 50 * time.Millisecond
	longestBackoff = 5 * time.Second
	backoffReset   = 2 * time.Minute
)

// NewWatcher starts to watch the EndpointSlices of a service.
func NewWatcher(s cluster.Service) *Watcher {
	ctx, cancel := context.WithCancel(logr.NewContext(context.Background(), logr.Discard()))
	w := &Watcher{cancel: cancel, done: make(chan struct{}), failures: make(chan error, 1), changed: make(chan struct{})}
	source, err := w.listWatch(s)
	if err != nil {
		w.note(err)
		close(w.done)
		return w
	}
	reflector := cache.NewReflectorWithOptions(source, &discovery.EndpointSlice{}, store{w}, cache.ReflectorOptions{Name: s.Name})
	go func() {
		defer close(w.done)
		// As RunWithContext does, but its back-off of 800 ms to 30 s cannot be set.
		backoff := wait.Backoff{Duration: firstBackoff, Factor: 2, Jitter: 0.5, Steps: int(longestBackoff / firstBackoff), Cap: longestBackoff}
		_ = backoff.DelayWithReset(clock.RealClock{}, backoffReset).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
			_ = reflector.ListAndWatchWithContext(ctx) // listWatch notes why it failed
			return false, nil
		}) // returns when ctx ends
	}()
	return w
}

// listWatch lists and watches the slices of a service, and notes errors: a reflector
// retries and does not report them.
func (w *Watcher) listWatch(s cluster.Service) (*cache.ListWatch, error) {
	client, err := Client(s.API)
	if err != nil {
		return nil, err
	}
	// QPS below 0: one watch needs no rate limit.
	api, err := clientset.NewWithClient(&rest.Config{Host: s.API, QPS: -1}, client)
	if err != nil {
		return nil, fmt.Errorf("EndpointSlice API at %s: %w", s.API, err)
	}
	w.client = client
	source := api.DiscoveryV1().EndpointSlices(s.Namespace).ListWatch(discovery.LabelServiceName + "=" + s.Name)
	note := func(request string, err error) {
		if err != nil {
			err = fmt.Errorf("%s EndpointSlices of %s/%s: %w", request, s.Namespace, s.Name, err)
		}
		w.note(err)
	}
	list, watchFrom := source.ListWithContextFunc, source.WatchFuncWithContext
	source.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		found, err := list(ctx, o)
		if err != nil { // success ends no failure, since the watch that follows may be forbidden
			note("list", err)
		}
		return found, err
	}
	source.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		events, err := watchFrom(ctx, o)
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) { // the reflector expects these, and lists again
			note("watch", err)
		}
		return events, err
	}
	return source, nil
}

// Current returns the state and a channel that closes at the next change.
func (w *Watcher) Current() (State, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state, w.changed
}

// Sync returns once the API has answered. It fails when ctx ends first, or when the API
// cannot be asked from here.
func (w *Watcher) Sync(ctx context.Context) (State, error) {
	for {
		state, changed := w.Current()
		if state.Synced {
			return state, nil
		}
		if w.client == nil {
			return state, state.Err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if state.Err != nil {
				return state, fmt.Errorf("%w (%w)", state.Err, ctx.Err())
			}
			return state, ctx.Err()
		}
	}
}

// Close ends the watch and returns when its goroutines have exited.
func (w *Watcher) Close() {
	w.cancel()
	<-w.done
	if w.client != nil {
		w.client.CloseIdleConnections()
	}
}

// Failures receives an error each time that the API stops answering. Until the API has answered for the
// first time, the state has the error.
func (w *Watcher) Failures() <-chan error { return w.failures }

// note records the outcome of a request.
func (w *Watcher) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.failing = false
	case !w.state.Synced:
		w.publish(State{Err: err})
	case !w.failing:
		w.failing = true
		select {
		case w.failures <- err:
		default: // nobody has read the last one
		}
	}
}

// update changes the slices and publishes the endpoints if those that are usable differ.
func (w *Watcher) update(change func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	usable := setOf(w.slices).Usable()
	if !w.state.Synced || !slices.Equal(usable, w.state.Usable) {
		w.publish(State{Usable: usable, Synced: true})
	}
	return nil
}

func (w *Watcher) publish(s State) {
	w.state = s
	close(w.changed)
	w.changed = make(chan struct{})
}

// store implements [cache.ReflectorStore].
type store struct{ *Watcher }

func (s store) Add(object any) error { return s.Update(object) }

func (s store) Update(object any) error {
	slice := object.(*discovery.EndpointSlice)
	return s.update(func() { s.slices[slice.Name] = slice })
}

func (s store) Delete(object any) error {
	slice := object.(*discovery.EndpointSlice)
	return s.update(func() { delete(s.slices, slice.Name) })
}

func (s store) Replace(objects []any, _ string) error {
	return s.update(func() {
		s.slices = map[string]*discovery.EndpointSlice{}
		for _, object := range objects {
			slice := object.(*discovery.EndpointSlice)
			s.slices[slice.Name] = slice
		}
	})
}

func (store) Resync() error { return nil }
