package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// kubeconfigs has the contexts that kind, k3d and minikube write, one with a command of its own, and others.
const kubeconfigs = `
apiVersion: v1
kind: Config
current-context: kind-lab
clusters:
- {name: kind-lab, cluster: {server: "https://127.0.0.1:1"}}
- {name: k3d-mine, cluster: {server: "https://127.0.0.1:2"}}
- name: minikube
  cluster:
    server: "https://127.0.0.1:3"
    extensions:
    - {name: cluster_info, extension: {last-update: "Mon, 23 Nov 2026", provider: minikube.sigs.k8s.io, version: v1.38.0}}
- {name: prod, cluster: {server: "https://127.0.0.1:4"}}
contexts:
- {name: kind-lab, context: {cluster: kind-lab, user: kind-lab}}
- {name: k3d-mine, context: {cluster: k3d-mine, user: admin}}
- {name: second, context: {cluster: minikube, user: second}}
- {name: prod, context: {cluster: prod, user: admin}}
- {name: own, context: {cluster: prod, user: admin, extensions: [{name: rpclab, extension: {load-image: [./load, --all]}}]}}
- {name: wrong, context: {cluster: prod, user: admin, extensions: [{name: rpclab, extension: {load-image: ./load}}]}}
`

func TestLoadCommandIsThatOfTheToolThatMadeTheCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfigs), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{
		"kind-lab": "kind load image-archive --name lab",
		"k3d-mine": "k3d image import --cluster mine",
		"second":   "minikube image load --profile second",
		"prod":     "",
		"own":      "./load --all",
		"wrong":    "",
		"nowhere":  "",
	} {
		if got := strings.Join(loadCommand(*config, context), " "); got != want {
			t.Errorf("the command for the context %s is %q, want %q", context, got, want)
		}
	}
}
