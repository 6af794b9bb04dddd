package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// deploymentOf is the Deployment whose pods a Service selects.
func (a *API) deploymentOf(ctx context.Context, service *corev1.Service) (*appsv1.Deployment, error) {
	all, err := a.client.AppsV1().Deployments(service.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explain(err, service.Namespace)
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	var found []appsv1.Deployment
	var names []string
	for _, d := range all.Items {
		if len(service.Spec.Selector) > 0 && selector.Matches(labels.Set(d.Spec.Template.Labels)) {
			found, names = append(found, d), append(names, d.Name)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("--allow-disruption: the Service %s/%s selects the pods of %d Deployments (%s), and rpclab disturbs those of exactly one: remove the events",
			service.Namespace, service.Name, len(found), strings.Join(names, ", "))
	}
	return &found[0], nil
}

func replicasOf(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// restart replaces the pods of a Deployment one by one, with these fields of their spec changed; nil: none.
func (a *API) restart(ctx context.Context, namespace, name string, changed map[string]any, dryRun ...string) (*appsv1.Deployment, error) {
	template := map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"kubectl.kubernetes.io/restartedAt": time.Now().Format(time.RFC3339Nano)}}}
	if changed != nil {
		template["spec"] = changed
	}
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		return nil, err
	}
	next, err := a.client.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager, DryRun: dryRun})
	if err != nil {
		return nil, fmt.Errorf("roll out %s: %w", name, explain(err, namespace))
	}
	return next, nil
}

// setReplicas scales a Deployment.
func (a *API) setReplicas(ctx context.Context, namespace, name string, replicas int) error {
	body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := a.client.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager}, "scale")
	return explain(err, namespace)
}
