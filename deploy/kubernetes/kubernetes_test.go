// Package kubernetes holds what is applied to a cluster to what it was when somebody looked at it.
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

// built is what `kubectl kustomize DIR` prints.
func built(t *testing.T, dir string) resmap.ResMap {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWhatIsAppliedIsWhatWasLookedAt(t *testing.T) {
	for _, dir := range []string{"lab", "monitored", "meshed"} {
		t.Run(dir, func(t *testing.T) {
			text, err := built(t, dir).AsYaml()
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, dir+".yaml", string(text))
		})
	}
}

// The ports and what they mean are those of `rpclab lab up balancing`.
func TestEveryGatewayHasThePortThatItsRouteHasOnOneMachine(t *testing.T) {
	ports := map[string]int{}
	for _, p := range stack.Plans() {
		ports[p.Route] = stack.Port + p.Offset
	}
	seen := 0
	for _, object := range built(t, "lab").Resources() {
		if object.GetKind() != "Service" || !strings.HasSuffix(object.GetName(), "-gateway") {
			continue
		}
		seen++
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
			t.Errorf("%s, of the route %s, is on port %d, not %d", object.GetName(), mode, service.Spec.Ports[0].NodePort, ports[mode])
		}
	}
	if seen != 4 {
		t.Errorf("there are %d gateways, not 4", seen)
	}
}
