package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"rpclab/internal/cluster"
)

// existingTimeout is how long the endpoints of an existing Service may take to be listed and ready.
const existingTimeout = 20 * time.Second

// existing is a Service that runs already, in a namespace of its own. rpclab only reads it. Callers may not watch
// objects there, so rpclab copies its EndpointSlices into the namespace of the run, where they may.
type existing struct {
	cluster.AsItIs
	run       *run
	copy      string // the name of the headless Service of the copies
	origin    *corev1.Service
	port      corev1.ServicePort
	endpoints *cluster.Endpoints
	service   cluster.Service

	slices  discoverylisters.EndpointSliceLister
	changed chan struct{} // receives when the EndpointSlices have changed
	copied  map[string]*discoveryv1.EndpointSlice
	cancel  context.CancelFunc
	tasks   sync.WaitGroup

	mu     sync.Mutex
	failed string // why the last change could not be copied; empty: it was
}

// deployExisting copies the endpoints of a Service, and returns when one of them is ready.
func deployExisting(ctx context.Context, run *run, spec cluster.Spec) (*existing, error) {
	if spec.NodePort {
		return nil, fmt.Errorf("server.service: the route nodeport needs a port that rpclab opened, and rpclab opens none for %s: use the route clusterip", spec.Existing)
	}
	origin, err := run.api.findService(ctx, spec.Existing)
	if err != nil {
		return nil, err
	}
	port, err := choosePort(origin, spec.Port)
	if err != nil {
		return nil, err
	}
	d := &existing{
		AsItIs: cluster.AsItIs{Name: spec.Existing, Field: "server.service"}, run: run, copy: run.uniqueName(spec.Name), origin: origin, port: port,
		endpoints: cluster.NewEndpoints(), changed: make(chan struct{}, 1), copied: map[string]*discoveryv1.EndpointSlice{},
	}
	following, cancel := context.WithCancel(run.ctx)
	d.cancel = cancel
	if err := d.start(ctx, following); err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return d, nil
}

// findService finds a Service by NAMESPACE/NAME.
func (a *API) findService(ctx context.Context, title string) (*corev1.Service, error) {
	namespace, name, _ := strings.Cut(title, "/")
	found, err := a.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("server.service: there is no Service %s in the namespace %s: see `kubectl get services -n %s`", name, namespace, namespace)
	case err != nil:
		return nil, fmt.Errorf("server.service: %w", explain(err, namespace))
	case found.Spec.Type == corev1.ServiceTypeExternalName:
		return nil, fmt.Errorf("server.service: %s only stands for the name %s and has no endpoints: use server.addresses with --on local", title, found.Spec.ExternalName)
	}
	return found, nil
}

// choosePort chooses the TCP port of a Service: the wanted one, or the only one, or the one with the name of a protocol.
func choosePort(service *corev1.Service, wanted int) (corev1.ServicePort, error) {
	ports := slices.DeleteFunc(slices.Clone(service.Spec.Ports), func(p corev1.ServicePort) bool { return !isTCP(p.Protocol) })
	i := -1
	switch {
	case wanted > 0:
		i = slices.IndexFunc(ports, func(p corev1.ServicePort) bool { return int(p.Port) == wanted })
	case len(ports) == 1:
		i = 0
	default:
		for _, name := range []string{"grpc", "http"} {
			if i < 0 {
				i = slices.IndexFunc(ports, func(p corev1.ServicePort) bool { return p.Name == name })
			}
		}
	}
	if i >= 0 {
		return ports[i], nil
	}
	var names []string
	for _, p := range ports {
		names = append(names, strings.TrimSpace(fmt.Sprint(p.Port, " ", p.Name)))
	}
	return corev1.ServicePort{}, fmt.Errorf("server.port: the Service %s/%s has the TCP ports %s: set server.port to one of them", service.Namespace, service.Name, strings.Join(names, ", "))
}

func (d *existing) start(ctx, following context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, existingTimeout)
	defer cancel()
	if err := d.watch(ctx, following); err != nil {
		return err
	}
	selectorless := &corev1.Service{ObjectMeta: d.run.meta(d.copy, map[string]string{labelService: d.copy}), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone,
		Ports:     []corev1.ServicePort{{Name: portName, Port: d.port.Port, Protocol: corev1.ProtocolTCP}},
	}}
	if err := d.run.api.apply(ctx, selectorless); err != nil {
		return err
	}
	if err := d.sync(ctx); err != nil {
		return err
	}
	d.tasks.Go(func() { d.follow(following) })
	now, err := d.awaitReady(ctx)
	if err != nil {
		return err
	}
	d.describe(now)
	return nil
}

// portName is the name of the one port of the copies.
const portName = "grpc"

// watch starts to watch the EndpointSlices of the Service, and returns when they are listed.
func (d *existing) watch(ctx, following context.Context) error {
	namespace := d.origin.Namespace
	only := labels.Set{discoveryv1.LabelServiceName: d.origin.Name}.String()
	// An informer does not say why it cannot list.
	if _, err := d.run.api.client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: only, Limit: 1}); err != nil {
		return fmt.Errorf("server.service: %w", explain(err, namespace))
	}
	watched := d.run.api.client.DiscoveryV1().EndpointSlices(namespace).Informer(only)
	d.slices = discoverylisters.NewEndpointSliceLister(watched.GetIndexer())
	notify := func() {
		select {
		case d.changed <- struct{}{}:
		default: // it is known already
		}
	}
	_, err := watched.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	})
	if err != nil {
		return err
	}
	d.tasks.Go(func() { watched.RunWithContext(following) })
	if !cache.WaitForCacheSync(ctx.Done(), watched.HasSynced) {
		return fmt.Errorf("server.service: the EndpointSlices of %s did not arrive: %w", d.Name, context.Cause(ctx))
	}
	return nil
}

// The pauses before a change that could not be copied is copied again.
const (
	firstCopyPause = 100 * time.Millisecond
	maxCopyPause   = 5 * time.Second
)

// follow copies every change until the context ends, again and again if it fails.
func (d *existing) follow(ctx context.Context) {
	pause := firstCopyPause
	var again <-chan time.Time // nil: the last change is copied
	for {
		select {
		case <-d.changed:
		case <-again:
		case <-ctx.Done():
			return
		}
		err := d.sync(ctx)
		failed := ""
		if err != nil && ctx.Err() == nil {
			failed = fmt.Sprintf("the endpoints of %s could not be copied: %v", d.Name, err)
			again, pause = time.After(pause), min(2*pause, maxCopyPause)
		} else {
			again, pause = nil, firstCopyPause
		}
		d.mu.Lock()
		d.failed = failed
		d.mu.Unlock()
	}
}

// sync makes the copies equal to the EndpointSlices, and publishes them.
func (d *existing) sync(ctx context.Context) error {
	found, err := d.slices.EndpointSlices(d.origin.Namespace).List(labels.Everything())
	if err != nil {
		return err
	}
	present := map[string]*discoveryv1.EndpointSlice{}
	for _, original := range found {
		if copied := d.copyOf(original); copied != nil {
			present[original.Name] = copied
		}
	}
	var all []*discoveryv1.EndpointSlice
	for name, copied := range present {
		if err := d.run.api.apply(ctx, copied); err != nil {
			return err
		}
		d.copied[name] = copied
	}
	for name, old := range d.copied {
		if present[name] != nil {
			all = append(all, old)
			continue
		}
		err := d.run.api.client.DiscoveryV1().EndpointSlices(d.run.namespace).Delete(ctx, old.Name, metav1.DeleteOptions{})
		if err := ignoreNotFound(err); err != nil {
			return explain(err, d.run.namespace)
		}
		delete(d.copied, name)
	}
	publish(d.endpoints, all)
	return nil
}

// copyOf is the copy of an EndpointSlice with the one port that is measured; nil: it does not have the port, or it is of
// the second family of a Service that has two, so its pods are in another slice.
func (d *existing) copyOf(original *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	if families := d.origin.Spec.IPFamilies; len(families) > 0 && string(original.AddressType) != string(families[0]) {
		return nil
	}
	i := slices.IndexFunc(original.Ports, func(p discoveryv1.EndpointPort) bool {
		name := ""
		if p.Name != nil {
			name = *p.Name
		}
		return name == d.port.Name && p.Port != nil
	})
	if i < 0 {
		return nil
	}
	name, port := portName, original.Ports[i]
	port.Name = &name
	return &discoveryv1.EndpointSlice{
		ObjectMeta: d.run.meta(d.copy+"-"+original.Name, map[string]string{
			labelService: d.copy, discoveryv1.LabelServiceName: d.copy, discoveryv1.LabelManagedBy: manager,
		}),
		AddressType: original.AddressType, Endpoints: original.DeepCopy().Endpoints, Ports: []discoveryv1.EndpointPort{port},
	}
}

// awaitReady returns the endpoints when one of them is ready.
func (d *existing) awaitReady(ctx context.Context) (cluster.Snapshot, error) {
	for {
		now, changed := d.endpoints.Current()
		if len(now.Ready()) > 0 {
			return now, nil
		}
		d.run.progress(fmt.Sprintf("%s: none of its %d endpoints is ready", d.Name, len(now.Endpoints)))
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return now, ctx.Err()
			}
			return now, fmt.Errorf("server.service: none of the %d endpoints of %s is ready: see `kubectl describe service %s -n %s` and its pods",
				len(now.Endpoints), d.Name, d.origin.Name, d.origin.Namespace)
		}
	}
}

// describe sets how callers reach the service: by its own virtual IP, or by the copies of its endpoints, of which one
// is ready now.
func (d *existing) describe(now cluster.Snapshot) {
	d.service = cluster.Service{
		Name: d.copy, Namespace: d.run.namespace, Port: int(now.Ready()[0].Addr.Port()), Ready: len(now.Ready()),
		Host: fmt.Sprintf("%s.%s.svc", d.copy, d.run.namespace),
		VIP:  fmt.Sprintf("%s.%s.svc", d.origin.Name, d.origin.Namespace), VIPPort: int(d.port.Port),
		API: "https://kubernetes.default.svc",
	}
	if d.origin.Spec.ClusterIP == corev1.ClusterIPNone { // its name stands for the pods
		d.service.VIPPort = d.service.Port
	}
}

// Service says how callers in pods find the backends.
func (d *existing) Service() cluster.Service { return d.service }

// Endpoints are those of the Service.
func (d *existing) Endpoints() *cluster.Endpoints { return d.endpoints }

// Failures says whether a change of the endpoints could not be copied.
func (d *existing) Failures() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == "" {
		return nil
	}
	return []string{d.failed}
}

// Remove removes the copies.
func (d *existing) Remove() error {
	d.cancel()
	d.tasks.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	client, namespace := d.run.api.client, d.run.namespace
	errs := []error{ignoreNotFound(client.CoreV1().Services(namespace).Delete(ctx, d.copy, metav1.DeleteOptions{}))}
	for _, copied := range d.copied {
		errs = append(errs, ignoreNotFound(client.DiscoveryV1().EndpointSlices(namespace).Delete(ctx, copied.Name, metav1.DeleteOptions{})))
	}
	return errors.Join(errs...)
}
