package kubernetes

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/cluster"
)

// copyPullSecret returns a copy of an image pull secret for the namespace of a run. It copies no other Secret.
func (a *API) copyPullSecret(ctx context.Context, scope objectScope, namespace, name string) (*corev1.Secret, error) {
	secret, err := a.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("copy the image pull secret %s: %w", name, explain(err, namespace))
	}
	if secret.Type != corev1.SecretTypeDockerConfigJson && secret.Type != corev1.SecretTypeDockercfg {
		return nil, fmt.Errorf("the Secret %s of type %s is no image pull secret, and rpclab copies no other", name, secret.Type)
	}
	return &corev1.Secret{ObjectMeta: scope.meta(nameOfCopy(namespace, name), nil), Type: secret.Type, Data: secret.Data}, nil
}

// applyObjectsOf creates what the pods of a program mount or name: its files, and a copy of its image pull secret.
func (r *run) applyObjectsOf(ctx context.Context, program *cluster.Program) error {
	objects := filesOf(r.objectScope, program)
	if namespace, name, ok := strings.Cut(program.PullSecret, "/"); ok {
		secret, err := r.api.copyPullSecret(ctx, r.objectScope, namespace, name)
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("server.pull_secret: there is no Secret %s in the namespace %s: see `kubectl get secrets -n %s`", name, namespace, namespace)
		} else if err != nil {
			return fmt.Errorf("server.pull_secret: %w", err)
		}
		objects = append(objects, secret)
	}
	return r.api.apply(ctx, objects...)
}

// pullSecrets are those of the pods of a program that is an image.
func pullSecrets(program cluster.Program) []corev1.LocalObjectReference {
	namespace, name, ok := strings.Cut(program.PullSecret, "/")
	if !ok {
		return nil
	}
	return []corev1.LocalObjectReference{{Name: nameOfCopy(namespace, name)}}
}
