package kubernetes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/cluster"
)

// Only a Secret with which images are pulled is copied.
func TestOnlyPullSecretsAreCopied(t *testing.T) {
	secret := func(name string, of corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}, Type: of, Data: map[string][]byte{".dockerconfigjson": []byte("{}")}}
	}
	api := fakeObjects(t, nil, secret("registry", corev1.SecretTypeDockerConfigJson), secret("db", corev1.SecretTypeOpaque))
	copied, err := api.copyPullSecret(t.Context(), testScope, "shop", "registry")
	if err != nil || copied.Namespace != testScope.namespace || string(copied.Data[".dockerconfigjson"]) != "{}" {
		t.Errorf("%v, %v; want a copy in the namespace of the run", copied, err)
	}
	pod, err := programPod(testScope, cluster.Spec{Name: "orders", Port: 8080, Program: &cluster.Program{Image: "orders:2", PullSecret: "shop/registry"}})
	if err != nil || len(pod.ImagePullSecrets) != 1 || pod.ImagePullSecrets[0].Name != copied.Name {
		t.Errorf("%v, %v; want pods that name the copy", pod.ImagePullSecrets, err)
	}
	r := &run{api: api, objectScope: testScope}
	for name, want := range map[string]string{
		"db":      "server.pull_secret: the Secret db of type Opaque is no image pull secret",
		"nothing": "server.pull_secret: there is no Secret nothing in the namespace shop: see `kubectl get secrets -n shop`",
	} {
		if err := r.applyObjectsOf(t.Context(), &cluster.Program{Image: "orders:2", PullSecret: "shop/" + name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
