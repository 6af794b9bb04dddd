package kube

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// On one connection a route that balances connections reaches one backend, and one that
// balances calls reaches all of them alike: as on one machine (internal/route's conformance).
func TestEveryRouteWorksOnACluster(t *testing.T) {
	image(t, "")
	var d result.Document
	if err := json.Unmarshal([]byte(ran(t, testkit.Rpclab(t), "run", "testdata/routes.yaml", "--on", "kubernetes", "--no-store", "--json", "-")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Arms) != 14 {
		t.Errorf("there are %d arms", len(d.Arms))
	}
	for _, arm := range d.Arms {
		t.Run(arm.Name, func(t *testing.T) {
			if arm.Calls != 600 || len(arm.Errors) > 0 {
				t.Errorf("%d calls, errors %v", arm.Calls, arm.Errors)
			}
			counts := map[string]int{}
			for backend, calls := range arm.Backends {
				if calls > 0 {
					counts[backend] = int(calls)
				}
			}
			servers := 3
			switch arm.Route {
			case "direct", "clusterip", "nodeport", "forwarder":
				servers = 1
			case "headless":
				// The name server may hear of the last backend after the client has asked, who
				// does not ask again.
				servers = max(2, len(counts))
			}
			even(t, counts, servers, 0.1)
		})
	}
}

// The test bed has no mesh.
func TestAMeshThatIsNotThereIsNamedWithItsGuide(t *testing.T) {
	image(t, "")
	text, err := os.ReadFile("testdata/routes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for mesh, guide := range map[string]string{"linkerd": "https://linkerd.io/", "istio": "https://istio.io/"} {
		t.Run(mesh, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "mine.yaml")
			if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("route: nodeport"), []byte("route: "+mesh)), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), testkit.Rpclab(t), "run", file, "--on", "kubernetes", "--no-store", "--arms", "nodeport").CombinedOutput()
			if err == nil || !strings.Contains(string(out), guide) {
				t.Errorf("%v, and it says:\n%s", err, out)
			}
		})
	}
}
