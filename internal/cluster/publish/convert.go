package publish

import (
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"rpclab/internal/cluster"
)

// portName is the name of the one port of every slice.
const portName = "grpc"

// family is the properties that all endpoints of a slice share.
type family struct {
	kind discovery.AddressType
	port int32
}

// meta is the metadata of the slice with a number.
func (n Names) meta(number int, at time.Time) metav1.ObjectMeta {
	name := fmt.Sprintf("%s-%d", n.Service, number)
	return metav1.ObjectMeta{
		Name: name, GenerateName: n.Service + "-", Namespace: n.Namespace,
		UID: types.UID(n.Namespace + "." + name), Generation: 1, CreationTimestamp: metav1.NewTime(at),
		Labels: map[string]string{
			discovery.LabelServiceName: n.Service,
			discovery.LabelManagedBy:   "endpointslice-controller.k8s.io",
		},
		Annotations: triggered(at),
	}
}

// triggered is the annotation with the time of the change, by which kube-proxy measures its
// delay.
func triggered(at time.Time) map[string]string {
	return map[string]string{corev1.EndpointsLastChangeTriggerTime: at.UTC().Format(time.RFC3339Nano)}
}

// endpoint converts an endpoint to that of the API.
func (n Names) endpoint(e cluster.Endpoint) discovery.Endpoint {
	out := discovery.Endpoint{
		Addresses: []string{e.Addr.Addr().Unmap().String()},
		Conditions: discovery.EndpointConditions{
			Ready: new(e.Ready()), Serving: new(e.Serving), Terminating: new(e.Terminating),
		},
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: n.Namespace, Name: e.ID},
	}
	if isLabel(e.ID) {
		out.Hostname = new(e.ID)
	}
	if e.Zone != "" {
		out.Zone = new(e.Zone)
	}
	return out
}

func ports(port int32) []discovery.EndpointPort {
	return []discovery.EndpointPort{{Name: new(portName), Protocol: new(corev1.ProtocolTCP), Port: new(port)}}
}

func familyOf(e cluster.Endpoint) family {
	return family{addressType(e.Addr.Addr()), int32(e.Addr.Port())}
}

func familyIn(s discovery.EndpointSlice) family { return family{s.AddressType, *s.Ports[0].Port} }

func addressType(ip netip.Addr) discovery.AddressType {
	if ip.Unmap().Is4() {
		return discovery.AddressTypeIPv4
	}
	return discovery.AddressTypeIPv6
}
