package kubernetes

import (
	"context"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Expose opens a port of every node (nodePort) for a port of the deployment or callers whose pod has an address. It
// returns that port at the node of the pod, host:port.
func (c *Cluster) Expose(ctx context.Context, address string, port, nodePort int) (string, error) {
	pod, err := c.podAt(address)
	if err != nil {
		return "", err
	}
	if err := c.Open(ctx, address, port); err != nil {
		return "", err
	}
	name := pod.Labels[labelService]
	chosen := map[string]string{labelService: name}
	open := &corev1.Service{ObjectMeta: c.run.meta(exposed(name, port), chosen), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Selector: chosen,
		Ports: []corev1.ServicePort{{Name: "open", Port: int32(port), TargetPort: intstr.FromInt(port), NodePort: int32(nodePort), Protocol: corev1.ProtocolTCP}},
	}}
	if err := c.run.api.apply(ctx, open); err != nil {
		return "", fmt.Errorf("%w\nStop what uses port %d of the nodes (`kubectl get services -A`, `rpclab clean`), or choose another port", err, nodePort)
	}
	return net.JoinHostPort(pod.Status.HostIP, strconv.Itoa(nodePort)), nil
}

// Open accepts connections from outside of the run's namespace at a port of the deployment or callers whose pod has an
// address.
func (c *Cluster) Open(ctx context.Context, address string, port int) error {
	pod, err := c.podAt(address)
	if err != nil {
		return err
	}
	name := pod.Labels[labelService]
	chosen := map[string]string{labelService: name}
	return c.run.api.apply(ctx, served(c.run.meta(exposed(name, port), chosen), chosen, int32(port)))
}

// podAt is the pod of the run with an address.
func (c *Cluster) podAt(address string) (*corev1.Pod, error) {
	for _, pod := range c.run.watcher.allPods() {
		if pod.Status.PodIP == address && pod.DeletionTimestamp == nil {
			return pod, nil
		}
	}
	return nil, fmt.Errorf("no pod of namespace %s has the address %s", c.run.namespace, address)
}

// exposed is the name of the objects that open a port.
func exposed(service string, port int) string { return fmt.Sprintf("%s-%d", service, port) }
