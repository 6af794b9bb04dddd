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

// goneWithin is how long pods may take to go when nobody waits for their answers.
const goneWithin = time.Minute

// deployment is the lab's books of a Deployment and its pods.
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
	books    books
}

// Deploy makes a Deployment under a name of its own, so that no DNS answer of an earlier one
// is remembered, and returns when all its pods are ready and their agents attended to.
func (c *Cluster) Deploy(ctx context.Context, spec cluster.Spec) (cluster.Deployment, error) {
	if spec.Replicas < 1 {
		return nil, fmt.Errorf("deploy %s: %d replicas; at least 1 is needed", spec.Name, spec.Replicas)
	}
	c.mu.Lock()
	c.deployed++
	d := &deployment{
		cluster: c, name: fmt.Sprintf("%s-%d", spec.Name, c.deployed), spec: spec, endpoints: cluster.NewEndpoints(),
		replicas: map[types.UID]*replica{}, books: newBooks(),
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
	if err := d.cluster.mesh(ctx, d.spec.Mesh); err != nil {
		return err
	}
	if err := d.cluster.api.apply(ctx, backends(d.cluster.place(), d.name, d.spec)...); err != nil {
		return err
	}
	d.tasks.Go(d.tend)
	err := d.cluster.awaitPods(ctx, d.name, d.spec.Replicas, func() (bool, error) { return d.able() >= d.spec.Replicas, nil })
	if err != nil {
		return err
	}
	if err := d.meshed(); err != nil {
		return err
	}
	return d.serve(ctx)
}

// able is how many ready backends there are whose agents are attended to.
func (d *deployment) able() (n int) {
	now, _ := d.endpoints.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range now.Ready() {
		if r := d.byID(e.ID); r != nil && r.attended() != nil {
			n++
		}
	}
	return n
}

// byID is the replica of an endpoint; nil: it is not known yet. Call it with d.mu held.
func (d *deployment) byID(id string) *replica {
	for _, r := range d.replicas {
		if r.pod.Name == id {
			return r
		}
	}
	return nil
}

// serve finds out how callers reach the service.
func (d *deployment) serve(ctx context.Context) error {
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
	for _, pod := range d.cluster.look.podsOf(d.name) {
		if pod.Status.HostIP != "" && len(open.Spec.Ports) > 0 {
			d.service.NodePort = net.JoinHostPort(pod.Status.HostIP, strconv.Itoa(int(open.Spec.Ports[0].NodePort)))
			break
		}
	}
	return nil
}

// meshed looks whether the mesh put its proxy beside the backends.
func (d *deployment) meshed() error {
	if d.spec.Mesh == "" {
		return nil
	}
	for _, pod := range d.cluster.look.podsOf(d.name) {
		if !ready(pod) {
			continue
		}
		if err := checkProxy(pod, d.spec.Mesh); err != nil {
			return err
		}
	}
	return nil
}

// mesh says whether the mesh that pods are to have is there; empty: none.
func (c *Cluster) mesh(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	return checkMesh(ctx, c.api.client, name)
}

// Service says how callers in pods find the backends.
func (d *deployment) Service() cluster.Service { return d.service }

// Endpoints are those of the service's EndpointSlices.
func (d *deployment) Endpoints() *cluster.Endpoints { return d.endpoints }

// tend follows the pods and the endpoints until the deployment is removed.
func (d *deployment) tend() {
	for {
		changed := d.cluster.look.change()
		d.follow()
		publish(d.endpoints, d.cluster.look.slicesOf(d.name))
		select {
		case <-changed:
		case <-d.ctx.Done():
			return
		}
	}
}

// follow takes the pods there are into the books.
func (d *deployment) follow() {
	d.mu.Lock()
	defer d.mu.Unlock()
	there := map[types.UID]*corev1.Pod{}
	for _, pod := range d.cluster.look.podsOf(d.name) {
		there[pod.UID] = pod
		r := d.replicas[pod.UID]
		if r == nil {
			r = newReplica(d, pod)
			d.replicas[pod.UID] = r
			d.tasks.Go(r.tend)
		}
		r.pod = pod
		d.note(r)
	}
	for uid, r := range d.replicas {
		if there[uid] == nil {
			d.bury(r)
		}
	}
}

// Remove deletes the Deployment, with its pods at once, and returns when they are gone.
func (d *deployment) Remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), goneWithin)
	defer cancel()
	d.abandon()
	uncordoned := d.cluster.cordons.undo(d.cluster.namespace)
	client, namespace := d.cluster.api.client, d.cluster.namespace
	background := metav1.DeletePropagationBackground
	errs := []error{uncordoned, gone(client.AppsV1().Deployments(namespace).Delete(ctx, d.name, metav1.DeleteOptions{PropagationPolicy: &background}))}
	for _, service := range []string{d.name, headless(d.name), nodePort(d.name)} {
		errs = append(errs, gone(client.CoreV1().Services(namespace).Delete(ctx, service, metav1.DeleteOptions{})))
	}
	for ctx.Err() == nil {
		changed := d.cluster.look.change()
		// Anew, for a controller may make pods until it hears of the end.
		soon, lively := int64(1), false
		for _, pod := range d.cluster.look.podsOf(d.name) {
			lively = true
			if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds > 1 {
				errs = append(errs, gone(client.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &soon})))
			}
		}
		if !lively {
			return errors.Join(errs...)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return errors.Join(append(errs, fmt.Errorf("the pods of %s are not gone after %s: see `kubectl get pods -n %s`", d.name, goneWithin, namespace))...)
}

// abandon ends the books of the deployment; its pods are another matter.
func (d *deployment) abandon() {
	d.cancel()
	d.tasks.Wait()
	d.cluster.mu.Lock()
	defer d.cluster.mu.Unlock()
	delete(d.cluster.live, d)
}
