package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"rpclab/internal/cluster/kubernetes/clientset"
)

// object can be applied.
type object interface {
	runtime.Object
	metav1.Object
}

// kindOf returns the kind and the resource of an object, such as Lease and leases.
func kindOf(o object) (schema.GroupVersionKind, schema.GroupVersionResource, error) {
	kinds, _, err := clientset.Scheme.ObjectKinds(o)
	if err != nil {
		return schema.GroupVersionKind{}, schema.GroupVersionResource{}, err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return kinds[0], resource, nil
}

// apply creates or updates objects (server-side apply). It creates Deployments without server-side apply, which refuses a
// variable or a port that is listed twice, as in some Deployments of users. So a Deployment of this name must not exist.
func (a *API) apply(ctx context.Context, objects ...object) error {
	for _, applied := range objects {
		if deployment, ok := applied.(*appsv1.Deployment); ok {
			if _, err := a.client.AppsV1().Deployments(deployment.Namespace).Create(ctx, deployment, metav1.CreateOptions{FieldManager: manager}); err != nil {
				return fmt.Errorf("create Deployment %s: %w", deployment.Name, explain(err, deployment.Namespace))
			}
			continue
		}
		kind, resource, err := kindOf(applied)
		if err != nil {
			return err
		}
		applied.GetObjectKind().SetGroupVersionKind(kind)
		body, err := json.Marshal(applied)
		if err != nil {
			return err
		}
		force := true
		_, err = a.dynamic.Resource(resource).Namespace(applied.GetNamespace()).
			Patch(ctx, applied.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: &force})
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", kind.Kind, applied.GetName(), explain(err, applied.GetNamespace()))
		}
	}
	return nil
}
