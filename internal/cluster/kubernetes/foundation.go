package kubernetes

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	secretName = "agents"  // the token of the run's agents
	watcher    = "watcher" // the service account that may see endpoints
	plain      = "nothing" // the service account that may do nothing
	labelRole  = "rpclab/role"
	backend    = "backend" // a role: pods that serve
	member     = "member"  // a role: pods of crews

	// servicePort is that of every backend.
	servicePort = 50051
)

// foundation is what every pod of the namespace stands on.
func foundation(namespace, run, token string) []object {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: marks(run)}
	}
	seeing := rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"}}
	return append(account(meta(watcher), seeing),
		&corev1.Secret{ObjectMeta: meta(secretName), StringData: map[string]string{"token": token}},
		&corev1.ServiceAccount{ObjectMeta: meta(plain), AutomountServiceAccountToken: new(bool)},
		within(meta("within")),
	)
}

// account is a service account that may do this in its namespace. Pods say themselves
// whether they want its token.
func account(meta metav1.ObjectMeta, rules ...rbacv1.PolicyRule) []object {
	return []object{
		&corev1.ServiceAccount{ObjectMeta: meta, AutomountServiceAccountToken: new(bool)},
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: meta.Namespace}}},
	}
}

// within lets pods of the namespace talk to each other, and nobody else to them. The lab's
// way to an agent is none of the network's: a kubelet enters the pod.
func within(meta metav1.ObjectMeta) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
	}}
}

// served lets calls reach the port of backends by way of nodes, whose addresses nobody
// knows beforehand. A node may always talk to its own pods, so kubelets need no leave.
func served(meta metav1.ObjectMeta, chosen map[string]string) *networkingv1.NetworkPolicy {
	port, tcp := intstr.FromInt32(servicePort), corev1.ProtocolTCP
	return &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: chosen},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &port}}}},
	}}
}
