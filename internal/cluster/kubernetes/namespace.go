package kubernetes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// namespaceObject is the namespace of a run. It enforces the restricted Pod Security Standard.
func namespaceObject(scope objectScope) *corev1.Namespace {
	labels := runLabels(scope.id)
	for _, mode := range []string{"enforce", "warn"} {
		labels["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: scope.namespace, Labels: labels, Annotations: map[string]string{noteOwner: owner(), noteTTL: leaseDuration.String()},
	}}
}

// sharedObjects are the objects that every pod of the namespace needs.
func sharedObjects(scope objectScope, token string) []object {
	watchSlices := rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"}}
	return append(account(scope.meta(watcherAccount, nil), watchSlices),
		&corev1.Secret{ObjectMeta: scope.meta(secretName, nil), StringData: map[string]string{"token": token}},
		&corev1.ServiceAccount{ObjectMeta: scope.meta(noPermissions, nil), AutomountServiceAccountToken: new(bool)},
		within(scope.meta("within", nil)),
	)
}

// account is a service account with permissions in its namespace. Pods mount its token only
// if their spec says so.
func account(meta metav1.ObjectMeta, rules ...rbacv1.PolicyRule) []object {
	return []object{
		&corev1.ServiceAccount{ObjectMeta: meta, AutomountServiceAccountToken: new(bool)},
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: meta.Namespace}}},
	}
}

// within allows ingress only between pods of the namespace. rpclab reaches agents through the
// kubelet, which needs no rule.
func within(meta metav1.ObjectMeta) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
	}}
}

// annotate sets an annotation of a namespace.
func (a *API) annotate(ctx context.Context, namespace, key, value string) error {
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := a.client.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	return explain(err, namespace)
}
