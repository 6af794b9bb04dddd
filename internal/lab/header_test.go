package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
	"rpclab/internal/route"
)

func TestAResultSaysWhichRouteNoTestCalls(t *testing.T) {
	for of, want := range map[*route.Route]bool{&route.Linkerd: true, &route.Istio: false} {
		if arm := armOf(trial{route: *of}, experiment.Arm{}, nil); arm.Untested != want {
			t.Errorf("route %s: untested is %t, want %t", of.Name, arm.Untested, want)
		}
	}
}

// Without it, nobody could see later what was measured, and a comparison would not notice another call.
func TestAResultHasTheCallsAndTheServerOfAService(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "orders.json"), []byte(`{"id": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	expanded, err := experiment.Expand(filepath.Join(dir, "x.yaml"), []byte(`
experiment: mine
question: How fast?
services:
  shop:
    server: {command: [./shop, --listen, "{{.Address}}"], env: {TOKEN: hunter2}}
    metadata: {Authorization: Bearer hunter2}
    calls:
      get: {http: GET, path: "/data/orders?id={{.Number}}", check: status == 200}
      add: {http: POST, path: /data/orders, data: "@orders.json", metadata: {x-tag: [a, b]}}
      none: {http: GET, path: /never}
defaults: {service: shop, route: direct, workload: {mix: {get: 50%, add: 50%}}, caller: {kind: http}, load: {open: {rate: 10, duration: 1s}}}
arms: {a: {}, b: {caller: {timeout: 2s}}}
`), experiment.Options{}, Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Resolve(expanded)
	if err != nil {
		t.Fatal(err)
	}
	shared := result.WithoutPaths(header(plan.Plan, plan.trials, Options{Kind: "local"}))
	want := &result.Service{
		Calls: map[string]result.ServiceCall{
			"get": {Method: "GET /data/orders?id={{.Number}}", Check: "status == 200", Metadata: []string{"authorization"}},
			"add": {Method: "POST /data/orders", DataHash: result.DataHash(`{"id": 7}`), Metadata: []string{"authorization", "x-tag"}},
		},
		Server: result.ServiceServer{Command: []string{"./shop", "--listen", "{{.Address}}"}},
	}
	if diff := cmp.Diff(want, shared.Arms[1].OwnService); diff != "" {
		t.Errorf("the service of an arm (-want +got):\n%s", diff)
	}
	var text strings.Builder
	if err := result.Write(&text, shared); err != nil || strings.Contains(text.String(), "hunter2") {
		t.Errorf("the result contains a secret, or is not written (%v):\n%s", err, text.String())
	}
}
