// Package chart tests the Helm chart: that its files agree with the program. test/kube installs it.
package chart

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestPermissionsAreThoseOfTheProgram keeps the rules of the ClusterRole; -update writes them.
func TestPermissionsAreThoseOfTheProgram(t *testing.T) {
	text, err := yaml.Marshal(kubernetes.Permissions())
	if err != nil {
		t.Fatal(err)
	}
	testkit.GoldenFile(t, "permissions.yaml", string(text))

	raw, err := os.ReadFile("values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Permissions struct {
				Items struct{ Enum []string }
			}
		}
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	accepted := slices.Sorted(slices.Values(schema.Properties.Permissions.Items.Enum))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(kubernetes.Permissions())), accepted); diff != "" {
		t.Errorf("values.schema.json accepts other permissions (+) than exist (-):\n%s", diff)
	}
}
