package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"rpclab/internal/cluster"
)

// removeTimeout is how long pods may take to be deleted after a trial.
const removeTimeout = time.Minute

// deployment is a Deployment, its pods and what they used.
type deployment struct {
	run       *run
	name      string // of the Deployment and its service
	spec      cluster.Spec
	endpoints *cluster.Endpoints
	service   cluster.Service

	ctx    context.Context // ends with Remove, and with the run
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu         sync.Mutex
	wanted     int // replicas: those of spec, or of the last Scale
	replicas   map[types.UID]*replica
	account    cluster.Accounting
	noMeters   string // why the usage of the user's servers is not known; empty: meters measure it
	unmeasured string // why it is not known since ResetUsage
}

// deploy creates a Deployment and returns when all pods are ready and their agents are attached.
func deploy(ctx context.Context, run *run, spec cluster.Spec) (cluster.Deployment, error) {
	switch {
	case spec.Program != nil && !spec.Program.InPods():
		return nil, fmt.Errorf("deploy %s: server.command starts a program of this machine, not of Kubernetes; use --on local", spec.Name)
	case spec.Addresses != nil:
		return nil, fmt.Errorf("deploy %s: server.addresses is not supported on Kubernetes yet; use --on local", spec.Name)
	case spec.Replicas < 1:
		return nil, fmt.Errorf("deploy %s: %d replicas; at least 1 is needed", spec.Name, spec.Replicas)
	}
	d := &deployment{
		run: run, name: run.uniqueName(spec.Name), spec: spec, endpoints: cluster.NewEndpoints(), wanted: spec.Replicas,
		replicas: map[types.UID]*replica{}, account: cluster.NewAccounting(),
	}
	d.ctx, d.cancel = context.WithCancel(run.ctx)
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return d, nil
}

func (d *deployment) start(ctx context.Context) error {
	if err := checkInstalled(ctx, d.run.api.client, d.spec.Mesh); err != nil {
		return err
	}
	template, err := d.template(ctx)
	if err != nil {
		return err
	}
	if !d.ownServers() {
		if d.noMeters, err = d.run.whyNoMeters(ctx, template.Spec); err != nil {
			return err
		}
	}
	if err := d.run.api.apply(ctx, backends(d.run.objectScope, d.name, d.spec, template)...); err != nil {
		return err
	}
	d.tasks.Go(d.follow)
	d.run.tasks.Go(d.tasks.Wait)
	err = d.run.awaitPods(ctx, d.name, d.spec.Replicas, startTimeout(d.spec), func() (bool, error) {
		if d.attachedBackends() >= d.spec.Replicas {
			return true, nil
		}
		return false, d.checkProgram(ctx)
	})
	if err != nil {
		return err
	}
	var pods []corev1.PodSpec
	for _, pod := range d.run.watcher.podsOf(d.name) {
		pods = append(pods, pod.Spec)
	}
	if err := errors.Join(d.checkProxies(), checkStopSignal(d.spec.Program, pods...)); err != nil {
		return err
	}
	if !d.ownServers() && d.noMeters == "" {
		d.setNoMeters(awaitMeters(ctx, d.present()))
	}
	return d.describe(ctx)
}

// setNoMeters notes why the usage of this deployment, and of later ones of the run, is not known; nil: it is.
func (d *deployment) setNoMeters(err error) {
	if err == nil || d.ctx.Err() != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noMeters = err.Error()
	d.run.meters.Store(d.noMeters)
}

// template is the template of the pods: copied from another Deployment if the program says so.
func (d *deployment) template(ctx context.Context) (corev1.PodTemplateSpec, error) {
	if d.ownServers() {
		return backendPods(d.run.objectScope, d.name, d.spec)
	}
	if err := d.run.applyObjectsOf(ctx, d.spec.Program); err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	if d.spec.Program.Template == "" {
		return backendPods(d.run.objectScope, d.name, d.spec)
	}
	original, err := d.run.original(ctx, d.spec.Program.Template)
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	c, err := d.run.api.copyTemplate(ctx, d.run.objectScope, original, d.spec)
	if err != nil {
		return c.template, err
	}
	if len(c.changes) > 0 {
		d.run.noteOnce(fmt.Sprintf("The copy of %s %s.", d.spec.Program.Template, strings.Join(c.changes, ", ")))
	}
	d.spec.Port = c.port
	if c.template.Labels == nil {
		c.template.Labels = map[string]string{}
	}
	maps.Copy(c.template.Labels, d.run.meta("", map[string]string{labelService: d.name, labelRole: roleProgram}).Labels)
	addToken(&c.template.Spec)
	addFaultProxy(&c.template.Spec, d.run.objectScope, d.spec)
	inject(d.spec.Mesh, &c.template)
	return c.template, d.run.api.apply(ctx, c.objects...)
}

// follow updates replicas and endpoints from the cluster until the deployment is removed.
func (d *deployment) follow() {
	for {
		changed := d.run.watcher.change()
		d.updateReplicas()
		publish(d.endpoints, d.run.watcher.slicesOf(d.name))
		select {
		case <-changed:
		case <-d.ctx.Done():
			return
		}
	}
}

// updateReplicas updates the replicas from the present pods.
func (d *deployment) updateReplicas() {
	d.mu.Lock()
	defer d.mu.Unlock()
	present := map[types.UID]bool{}
	for _, pod := range d.run.watcher.podsOf(d.name) {
		present[pod.UID] = true
		name, id := imageOf(pod)
		if text := d.run.images.add(name, id, pod.Spec.NodeName); text != "" {
			d.run.note(text)
		}
		backend := d.replicas[pod.UID]
		if backend == nil {
			backend = newReplica(d.run, pod, d.spec)
			d.replicas[pod.UID] = backend
			if d.hasAgents() {
				d.tasks.Go(func() { backend.keepAttached(d.ctx) })
			}
			if !d.ownServers() && d.noMeters == "" {
				d.tasks.Go(func() { backend.meter.measure(d.ctx) })
			}
		}
		stops := pod.DeletionTimestamp != nil && backend.seen().DeletionTimestamp == nil
		d.account.Failures = append(d.account.Failures, backend.update(pod)...)
		if stops {
			d.tasks.Go(func() { backend.sampleLeaving(d.ctx) })
		}
	}
	for uid, backend := range d.replicas {
		if !present[uid] {
			delete(d.replicas, uid)
			d.recordExit(backend)
		}
	}
}

// recordExit moves a backend whose pod is gone to the account; call it with d.mu held.
func (d *deployment) recordExit(backend *replica) {
	close(backend.gone)
	if used, known := backend.usage(); known {
		d.account.Exited[backend.name] = used
	} else if backend.hasRun() {
		d.unmeasured = fmt.Sprintf("pod %s ended and could not be measured", backend.name)
	}
	if !d.hasAgents() {
		return
	}
	d.tasks.Go(func() {
		if calls, ok := backend.finalCalls(d.ctx); ok {
			d.mu.Lock()
			d.account.Calls[backend.name] = calls
			d.mu.Unlock()
		}
	})
}

// ownServers says whether the servers are rpclab's own. Of the program of a user rpclab knows what the API server
// knows of its pod, and what a meter measures.
func (d *deployment) ownServers() bool { return d.spec.Program == nil }

// hasAgents says whether an agent of rpclab runs in each pod: with the server, or with the fault proxy before it.
func (d *deployment) hasAgents() bool { return d.ownServers() || hasFaultProxy(d.spec) }

// checkProgram fails when a pod of a program runs, and has not become ready in time.
func (d *deployment) checkProgram(ctx context.Context) error {
	if d.ownServers() {
		return nil
	}
	for _, pod := range d.run.watcher.podsOf(d.name) {
		d.mu.Lock()
		backend := d.replicas[pod.UID]
		d.mu.Unlock()
		if backend == nil || ready(pod) || backend.runningFor() < readyTimeout(d.spec.Program) {
			continue
		}
		pods := d.run.watcher.podsOf(d.name)
		return fmt.Errorf("%s: %w (%s):\n%s%s", d.name, ErrPods, countStates(pods, nil, d.spec.Replicas),
			whyNotReady(pod, d.spec, d.run.watcher.unreadyOf(pod.Name)), d.run.lastLines(ctx, []*corev1.Pod{pod}))
	}
	return nil
}

// attachedBackends is how many backends are ready and attached.
func (d *deployment) attachedBackends() (n int) {
	attached := map[string]bool{}
	for _, backend := range d.present() {
		attached[backend.name] = !d.hasAgents() || backend.attached() != nil
	}
	now, _ := d.endpoints.Current()
	for _, endpoint := range now.Ready() {
		if attached[endpoint.ID] {
			n++
		}
	}
	return n
}

// checkProxies fails unless the mesh injected its proxy into the backends' pods.
func (d *deployment) checkProxies() error {
	for _, pod := range d.run.watcher.podsOf(d.name) {
		if !ready(pod) {
			continue
		}
		if err := checkProxy(pod, d.spec.Mesh); err != nil {
			return err
		}
	}
	return nil
}

// describe sets how callers reach the service.
func (d *deployment) describe(ctx context.Context) error {
	namespace := d.run.namespace
	d.service = cluster.Service{
		Name: d.name, Namespace: namespace, Port: publishedPort(d.spec), Ready: d.spec.Replicas,
		Host: fmt.Sprintf("%s.%s.svc", headless(d.name), namespace),
		VIP:  fmt.Sprintf("%s.%s.svc", d.name, namespace),
		API:  "https://kubernetes.default.svc",
	}
	if !d.spec.NodePort {
		return nil
	}
	open, err := d.run.api.client.CoreV1().Services(namespace).Get(ctx, nodePort(d.name), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("find the node port: %w", explain(err, namespace))
	}
	for _, pod := range d.run.watcher.podsOf(d.name) {
		if pod.Status.HostIP != "" && len(open.Spec.Ports) > 0 {
			d.service.NodePort = net.JoinHostPort(pod.Status.HostIP, strconv.Itoa(int(open.Spec.Ports[0].NodePort)))
			break
		}
	}
	return nil
}

// Service says how callers in pods find the backends.
func (d *deployment) Service() cluster.Service { return d.service }

// Endpoints are those of the service's EndpointSlices.
func (d *deployment) Endpoints() *cluster.Endpoints { return d.endpoints }

// present are the replicas whose pods exist.
func (d *deployment) present() []*replica {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.replicas))
}

// active are the replicas that are not stopping and have not failed, the oldest first. Failed pods are replaced, and the
// controller does not count them.
func (d *deployment) active() (active []*replica) {
	pods := d.run.watcher.podsOf(d.name)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, pod := range pods {
		stops := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed
		if backend := d.replicas[pod.UID]; backend != nil && !stops && !backend.isStopping() {
			active = append(active, backend)
		}
	}
	return active
}

// Remove deletes the Deployment and its pods, and returns when they are gone.
func (d *deployment) Remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	d.cancel()
	d.tasks.Wait()
	_, uncordoned := d.run.cordons.undo(ctx)
	errs := []error{uncordoned, d.deleteObjects(ctx)}
	for ctx.Err() == nil {
		changed := d.run.watcher.change()
		// Repeated, because the controller may create pods until it sees the deletion.
		pods := d.run.watcher.podsOf(d.name)
		if len(pods) == 0 {
			return errors.Join(errs...)
		}
		errs = append(errs, d.deletePods(ctx, pods))
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return errors.Join(append(errs, fmt.Errorf("the pods of %s still exist after %s: see `kubectl get pods -n %s`", d.name, removeTimeout, d.run.namespace))...)
}

// deleteObjects begins to delete the Deployment and its services.
func (d *deployment) deleteObjects(ctx context.Context) error {
	client, namespace := d.run.api.client, d.run.namespace
	background := metav1.DeletePropagationBackground
	err := client.AppsV1().Deployments(namespace).Delete(ctx, d.name, metav1.DeleteOptions{PropagationPolicy: &background})
	errs := []error{ignoreNotFound(err)}
	for _, service := range []string{d.name, headless(d.name), nodePort(d.name)} {
		errs = append(errs, ignoreNotFound(client.CoreV1().Services(namespace).Delete(ctx, service, metav1.DeleteOptions{})))
	}
	return errors.Join(errs...)
}

// deletePods begins to delete pods without their grace period.
func (d *deployment) deletePods(ctx context.Context, pods []*corev1.Pod) error {
	var errs []error
	grace := int64(1)
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds > grace {
			err := d.run.api.client.CoreV1().Pods(d.run.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace})
			errs = append(errs, ignoreNotFound(err))
		}
	}
	return errors.Join(errs...)
}
