package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
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
	cluster   *Cluster
	name      string // of the Deployment and its service
	spec      cluster.Spec
	endpoints *cluster.Endpoints
	service   cluster.Service

	ctx    context.Context // ends with Remove
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu       sync.Mutex
	replicas map[types.UID]*replica
	account  accounting
}

// Deploy creates a Deployment with a unique name, so that no cached DNS answer belongs to an
// earlier one. It returns when all pods are ready and their agents are attached.
func (c *Cluster) Deploy(ctx context.Context, spec cluster.Spec) (cluster.Deployment, error) {
	if spec.Replicas < 1 {
		return nil, fmt.Errorf("deploy %s: %d replicas; at least 1 is needed", spec.Name, spec.Replicas)
	}
	c.mu.Lock()
	c.deployed++
	d := &deployment{
		cluster: c, name: fmt.Sprintf("%s-%d", spec.Name, c.deployed), spec: spec, endpoints: cluster.NewEndpoints(),
		replicas: map[types.UID]*replica{}, account: newAccounting(),
	}
	d.ctx, d.cancel = context.WithCancel(c.ctx)
	c.live[d] = true
	c.mu.Unlock()
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return d, nil
}

func (d *deployment) start(ctx context.Context) error {
	if err := d.cluster.checkMesh(ctx, d.spec.Mesh); err != nil {
		return err
	}
	if err := d.cluster.api.apply(ctx, backends(d.cluster.scope(), d.name, d.spec)...); err != nil {
		return err
	}
	d.tasks.Go(d.follow)
	err := d.cluster.awaitPods(ctx, d.name, d.spec.Replicas, func() (bool, error) { return d.attachedBackends() >= d.spec.Replicas, nil })
	if err != nil {
		return err
	}
	if err := d.checkProxies(); err != nil {
		return err
	}
	return d.describe(ctx)
}

// attachedBackends is how many backends are ready and attached.
func (d *deployment) attachedBackends() (n int) {
	now, _ := d.endpoints.Current()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range now.Ready() {
		if r := d.byID(e.ID); r != nil && r.attached() != nil {
			n++
		}
	}
	return n
}

// byID is the replica of an endpoint, nil until it is known. Call it with d.mu held.
func (d *deployment) byID(id string) *replica {
	for _, r := range d.replicas {
		if r.pod.Name == id {
			return r
		}
	}
	return nil
}

// describe sets how callers reach the service.
func (d *deployment) describe(ctx context.Context) error {
	namespace := d.cluster.namespace
	d.service = cluster.Service{
		Name: d.name, Namespace: namespace, Port: servicePort,
		Host: fmt.Sprintf("%s.%s.svc", headless(d.name), namespace),
		VIP:  fmt.Sprintf("%s.%s.svc", d.name, namespace),
		API:  "https://kubernetes.default.svc",
	}
	if !d.spec.NodePort {
		return nil
	}
	open, err := d.cluster.api.client.CoreV1().Services(namespace).Get(ctx, nodePort(d.name), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("find the node port: %w", explain(err, namespace))
	}
	for _, pod := range d.cluster.watcher.podsOf(d.name) {
		if pod.Status.HostIP != "" && len(open.Spec.Ports) > 0 {
			d.service.NodePort = net.JoinHostPort(pod.Status.HostIP, strconv.Itoa(int(open.Spec.Ports[0].NodePort)))
			break
		}
	}
	return nil
}

// checkProxies fails unless the mesh injected its proxy beside the backends.
func (d *deployment) checkProxies() error {
	if d.spec.Mesh == "" {
		return nil
	}
	for _, pod := range d.cluster.watcher.podsOf(d.name) {
		if !ready(pod) {
			continue
		}
		if err := checkProxy(pod, d.spec.Mesh); err != nil {
			return err
		}
	}
	return nil
}

// checkMesh fails unless the mesh is installed; empty: none is needed.
func (c *Cluster) checkMesh(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	return checkInstalled(ctx, c.api.client, name)
}

// Service says how callers in pods find the backends.
func (d *deployment) Service() cluster.Service { return d.service }

// Endpoints are those of the service's EndpointSlices.
func (d *deployment) Endpoints() *cluster.Endpoints { return d.endpoints }

// follow updates replicas and endpoints from the cluster until the deployment is removed.
func (d *deployment) follow() {
	for {
		changed := d.cluster.watcher.change()
		d.updateReplicas()
		publish(d.endpoints, d.cluster.watcher.slicesOf(d.name))
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
	present := map[types.UID]*corev1.Pod{}
	for _, pod := range d.cluster.watcher.podsOf(d.name) {
		present[pod.UID] = pod
		r := d.replicas[pod.UID]
		if r == nil {
			r = newReplica(d, pod)
			d.replicas[pod.UID] = r
			d.tasks.Go(r.keepAttached)
		}
		r.pod = pod
		d.noteExit(r)
	}
	for uid, r := range d.replicas {
		if present[uid] == nil {
			d.recordExit(r)
		}
	}
}

// Remove deletes the Deployment and its pods, and returns when they are gone.
func (d *deployment) Remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	d.abandon()
	uncordoned := d.cluster.cordons.undo(d.cluster.namespace)
	client, namespace := d.cluster.api.client, d.cluster.namespace
	background := metav1.DeletePropagationBackground
	errs := []error{uncordoned, ignoreNotFound(client.AppsV1().Deployments(namespace).Delete(ctx, d.name, metav1.DeleteOptions{PropagationPolicy: &background}))}
	for _, service := range []string{d.name, headless(d.name), nodePort(d.name)} {
		errs = append(errs, ignoreNotFound(client.CoreV1().Services(namespace).Delete(ctx, service, metav1.DeleteOptions{})))
	}
	for ctx.Err() == nil {
		changed := d.cluster.watcher.change()
		// Repeated, because the controller may create pods until it sees the deletion.
		grace, remaining := int64(1), false
		for _, pod := range d.cluster.watcher.podsOf(d.name) {
			remaining = true
			if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds > 1 {
				errs = append(errs, ignoreNotFound(client.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace})))
			}
		}
		if !remaining {
			return errors.Join(errs...)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return errors.Join(append(errs, fmt.Errorf("the pods of %s still exist after %s: see `kubectl get pods -n %s`", d.name, removeTimeout, namespace))...)
}

// abandon ends the supervision of the deployment, not its pods.
func (d *deployment) abandon() {
	d.cancel()
	d.tasks.Wait()
	d.cluster.mu.Lock()
	defer d.cluster.mu.Unlock()
	delete(d.cluster.live, d)
}
