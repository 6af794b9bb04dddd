// Package kubernetes tests the manifests: each change of what `kubectl apply -k` applies must be a
// change of a golden file.
package kubernetes

import (
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"rpclab/internal/gateway/stack"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// render is the output of `kubectl kustomize DIR`.
func render(t *testing.T, dir string) resmap.ResMap {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return resources
}

func TestRenderedManifests(t *testing.T) {
	for _, dir := range []string{"lab", "monitored", "meshed"} {
		t.Run(dir, func(t *testing.T) {
			text, err := render(t, dir).AsYaml()
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, dir+".yaml", string(text))
		})
	}
}

// A gateway has the same port as that of its route in `rpclab lab up`.
func TestGatewaysHaveThePortsOfTheLocalLab(t *testing.T) {
	ports := map[string]int{}
	for _, p := range stack.Plans() {
		ports[p.Route.Name] = stack.Port + p.Offset
	}
	gateways := 0
	for _, object := range render(t, "lab").Resources() {
		if object.GetKind() != "Service" || !strings.HasSuffix(object.GetName(), "-gateway") {
			continue
		}
		gateways++
		var service struct {
			Spec struct{ Ports []struct{ NodePort int } }
		}
		text, err := object.AsYAML()
		if err == nil {
			err = yaml.Unmarshal(text, &service)
		}
		if err != nil {
			t.Fatal(err)
		}
		if mode := object.GetLabels()["rpclab/mode"]; service.Spec.Ports[0].NodePort != ports[mode] {
			t.Errorf("%s, of the route %s, has port %d, want %d", object.GetName(), mode, service.Spec.Ports[0].NodePort, ports[mode])
		}
	}
	if gateways != 4 {
		t.Errorf("the manifests have %d gateways, want 4", gateways)
	}
}
