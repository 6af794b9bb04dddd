package kube

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// TestEveryRouteWorksOnACluster makes calls over one connection. Routes that balance connections reach
// one backend, and routes that balance calls reach all evenly, as on one machine.
func TestEveryRouteWorksOnACluster(t *testing.T) {
	t.Parallel()
	d := routesOn(t, "kubernetes")
	if len(d.Arms) != 14 {
		t.Errorf("%d arms, want 14", len(d.Arms))
	}
	for _, arm := range d.Arms {
		t.Run(arm.Name, func(t *testing.T) {
			if arm.Calls != 3000 || len(arm.Errors) > 0 {
				t.Errorf("%d calls, errors %v; want 3000 and none", arm.Calls, arm.Samples)
			}
			want := even
			switch arm.Route {
			case "direct", "clusterip", "nodeport", "forwarder":
				want = onOne
			}
			if got := distribution(arm); got != want {
				t.Errorf("calls are %s, want %s: %v", got, want, arm.Backends)
			}
		})
	}
}

// TestAMissingMeshIsReportedWithItsGuide runs on a cluster without a mesh.
func TestAMissingMeshIsReportedWithItsGuide(t *testing.T) {
	t.Parallel()
	image(t)
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
				t.Errorf("error %v, want one with the guide %s:\n%s", err, guide, out)
			}
		})
	}
}
