package kubernetes

import (
	"bytes"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// minikubeMark is in the extensions that minikube adds to its entries of a kubeconfig.
var minikubeMark = []byte("minikube.sigs.k8s.io")

// loadExtension is the name of the extension of a context with a command that loads an image archive, its last argument,
// into the nodes: {load-image: [PROGRAM, ARGUMENT]}.
const loadExtension = "rpclab"

// loadCommand is the command with which the tool that made a cluster loads an image archive into its nodes; nil: rpclab
// does not know the tool. kind and k3d prefix the names of contexts, and minikube's context has the name of the profile.
func loadCommand(config clientcmdapi.Config, name string) []string {
	if cluster, ok := strings.CutPrefix(name, "kind-"); ok {
		return []string{"kind", "load", "image-archive", "--name", cluster}
	}
	if cluster, ok := strings.CutPrefix(name, "k3d-"); ok {
		return []string{"k3d", "image", "import", "--cluster", cluster}
	}
	selected := config.Contexts[name]
	if selected == nil {
		return nil
	}
	if raw, ok := selected.Extensions[loadExtension].(*runtime.Unknown); ok {
		var own struct {
			LoadImage []string `json:"load-image"`
		}
		if json.Unmarshal(raw.Raw, &own) == nil && len(own.LoadImage) > 0 {
			return own.LoadImage
		}
	}
	extensions := []map[string]runtime.Object{selected.Extensions}
	if cluster := config.Clusters[selected.Cluster]; cluster != nil {
		extensions = append(extensions, cluster.Extensions)
	}
	for _, named := range extensions {
		for _, extension := range named {
			if raw, ok := extension.(*runtime.Unknown); ok && bytes.Contains(raw.Raw, minikubeMark) {
				return []string{"minikube", "image", "load", "--profile", name}
			}
		}
	}
	return nil
}
