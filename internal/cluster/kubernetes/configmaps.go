package kubernetes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// configMap is a reference to a ConfigMap in a pod.
type configMap struct {
	name     *string
	optional *bool // may be nil
}

// configMapsOf are the references to ConfigMaps in a pod.
func configMapsOf(pod *corev1.PodSpec) (all []configMap) {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			for k := range c.EnvFrom {
				if from := c.EnvFrom[k].ConfigMapRef; from != nil {
					all = append(all, configMap{&from.Name, from.Optional})
				}
			}
			for k := range c.Env {
				if from := c.Env[k].ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
					all = append(all, configMap{&from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional})
				}
			}
		}
	}
	for i := range pod.Volumes {
		if from := pod.Volumes[i].ConfigMap; from != nil {
			all = append(all, configMap{&from.Name, from.Optional})
		}
		if projected := pod.Volumes[i].Projected; projected != nil {
			for k := range projected.Sources {
				if from := projected.Sources[k].ConfigMap; from != nil {
					all = append(all, configMap{&from.Name, from.Optional})
				}
			}
		}
	}
	return all
}

// nameOfCopy is the name of the copy of an object in the namespace of the run: it has copies from several namespaces, and
// objects of its own, such as the ConfigMap kube-root-ca.crt. A namespace has no dot in its name.
func nameOfCopy(namespace, name string) string { return "copy-" + namespace + "." + name }

// copyConfigMaps returns copies of the ConfigMaps to which a pod refers, and changes the pod to refer to them.
func (a *API) copyConfigMaps(ctx context.Context, namespace string, scope objectScope, pod *corev1.PodSpec) (copies []object, err error) {
	copied := map[string]bool{}
	for _, of := range configMapsOf(pod) {
		name := *of.name
		*of.name = nameOfCopy(namespace, name)
		if copied[name] {
			continue
		}
		found, err := a.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			if of.optional != nil && *of.optional {
				continue
			}
			return nil, fmt.Errorf("server.deployment: its pods need the ConfigMap %s, which the namespace %s does not have: see `kubectl get configmaps -n %s`", name, namespace, namespace)
		} else if err != nil {
			return nil, fmt.Errorf("server.deployment: copy its ConfigMap %s: %w", name, explain(err, namespace))
		}
		copied[name] = true
		copies = append(copies, &corev1.ConfigMap{ObjectMeta: scope.meta(nameOfCopy(namespace, name), nil), Data: found.Data, BinaryData: found.BinaryData})
	}
	return copies, nil
}
