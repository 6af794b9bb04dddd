package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// manager is the field manager of server-side apply.
const manager = "rpclab"

// object can be applied.
type object interface {
	runtime.Object
	metav1.Object
}

// kindOf is the kind and resource of an object; all kinds that a run creates are here.
func kindOf(o object) (schema.GroupVersionKind, string) {
	switch o.(type) {
	case *corev1.Namespace:
		return corev1.SchemeGroupVersion.WithKind("Namespace"), "namespaces"
	case *corev1.Secret:
		return corev1.SchemeGroupVersion.WithKind("Secret"), "secrets"
	case *corev1.Service:
		return corev1.SchemeGroupVersion.WithKind("Service"), "services"
	case *corev1.ServiceAccount:
		return corev1.SchemeGroupVersion.WithKind("ServiceAccount"), "serviceaccounts"
	case *coordinationv1.Lease:
		return coordinationv1.SchemeGroupVersion.WithKind("Lease"), "leases"
	case *rbacv1.Role:
		return rbacv1.SchemeGroupVersion.WithKind("Role"), "roles"
	case *rbacv1.RoleBinding:
		return rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), "rolebindings"
	case *networkingv1.NetworkPolicy:
		return networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), "networkpolicies"
	case *appsv1.Deployment:
		return appsv1.SchemeGroupVersion.WithKind("Deployment"), "deployments"
	case *batchv1.Job:
		return batchv1.SchemeGroupVersion.WithKind("Job"), "jobs"
	}
	return schema.GroupVersionKind{}, ""
}

// apply creates or updates objects (server-side apply).
func (a *API) apply(ctx context.Context, objects ...object) error {
	for _, o := range objects {
		kind, resource := kindOf(o)
		o.GetObjectKind().SetGroupVersionKind(kind)
		body, err := json.Marshal(o)
		if err != nil {
			return err
		}
		force := true
		_, err = a.dynamic.Resource(kind.GroupVersion().WithResource(resource)).Namespace(o.GetNamespace()).
			Patch(ctx, o.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: &force})
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", kind.Kind, o.GetName(), explain(err, o.GetNamespace()))
		}
	}
	return nil
}
