package conformance

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/testkit"
)

// exampleService returns the program of examples/NAME, which does not know rpclab.
func exampleService(t *testing.T, name string) *cluster.Program {
	t.Helper()
	dir, err := filepath.Abs("../../examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	packages := otherServer(t, name)
	if name == "node-service" {
		return &cluster.Program{Command: []string{"node", "server.js", "{{.Address}}"}, Dir: dir, Env: []string{"NODE_PATH=" + filepath.Join(packages, "node_modules")}}
	}
	return &cluster.Program{Command: []string{"python3", "server.py", "{{.Address}}"}, Dir: dir, Env: []string{"PYTHONPATH=" + packages, "PYTHONDONTWRITEBYTECODE=1"}}
}

// TestTheExamplesRunAsBackends starts three replicas of each example, calls each replica, and kills, stops and rolls
// them out.
func TestTheExamplesRunAsBackends(t *testing.T) {
	for name, flags := range map[string][]string{
		"node-service":   {"--proto", "../../examples/node-service/orders.proto"},
		"python-service": nil, // it has reflection
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := local.New(local.Options{Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			d, err := c.Deploy(t.Context(), cluster.Spec{Name: "orders", Program: exampleService(t, name), Replicas: 3, Drain: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := d.ResetUsage(); err != nil {
				t.Fatal(err)
			}
			now, _ := d.Endpoints().Current()
			for _, e := range now.Ready() {
				args := append([]string{"--call", "orders.v1.Orders/Get", "-d", `{"customer_id": {{randomInt 1 99}}}`, "--calls", "20", "--concurrency", "2"}, flags...)
				if arm := runLoad(t, append(args, e.Addr.String())...); arm.Calls != 20 || len(arm.Errors) > 0 {
					t.Errorf("%s: %d calls, errors %v; want 20 calls without errors", e.ID, arm.Calls, arm.Samples)
				}
				if name == "node-service" {
					checkOrders(t, "http://"+e.Addr.String()+"/orders?customer=3")
				}
				if used := d.Usage()[e.ID]; used.CPU <= 0 || used.MaxRSS < 1<<20 {
					t.Errorf("%s used %+v, want CPU time and memory", e.ID, used)
				}
			}
			for _, step := range []struct {
				what string
				do   func() ([]string, error)
				left []string
			}{
				{"kill", func() ([]string, error) { return d.Kill(t.Context(), 1) }, []string{"orders-1", "orders-2", "orders-3"}},
				{"stop", func() ([]string, error) { return d.Stop(t.Context(), 1) }, []string{"orders-2", "orders-3", "orders-4"}},
				{"rollout", func() ([]string, error) { return d.Rollout(t.Context(), nil) }, []string{"orders-5", "orders-6", "orders-7"}},
			} {
				if _, err := step.do(); err != nil {
					t.Fatal(err)
				}
				testkit.AwaitFor(t, 2*time.Minute, step.what+" leaves only new backends", func() bool { return backendsAre(d, step.left) })
			}
			if failures := d.Failures(); len(failures) > 0 {
				t.Errorf("the failures are %q, want none", failures)
			}
		})
	}
}

// backendsAre reports whether exactly these backends are published, and all are ready.
func backendsAre(d cluster.Deployment, want []string) bool {
	now, _ := d.Endpoints().Current()
	if len(now.Endpoints) != len(want) {
		return false
	}
	for i, e := range now.Endpoints {
		if e.ID != want[i] || !e.Ready() {
			return false
		}
	}
	return true
}

// checkOrders fails the test unless a URL returns 20 orders.
func checkOrders(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct{ Orders []struct{ ID string } }
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil || len(body.Orders) != 20 {
		t.Errorf("%s returns %s with %d orders, %v; want 20", url, answer.Status, len(body.Orders), err)
	}
}
