package conformance

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// exampleService returns the program of examples/NAME, which does not know rpclab.
func exampleService(t *testing.T, name string) *cluster.Program {
	t.Helper()
	dir, err := filepath.Abs("../../examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	packages := testkit.Cached(t, "conformance", name)
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
			draft, err := exec.Command(testkit.Rpclab(t), append([]string{"init", now.Ready()[0].Addr.String()}, flags...)...).Output()
			if err != nil || !strings.Contains(string(draft), "method: orders.v1.Orders/Get\n") {
				t.Errorf("rpclab init: %v\n%s", err, draft)
			}
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

// rpclabOnExample runs an experiment on the service file of an example and reads the result.
func rpclabOnExample(t *testing.T, name string, args ...string) result.Document {
	t.Helper()
	return rpclabOn(t, exampleService(t, name), args...)
}

// rpclabOn runs an experiment in the directory of a program and reads the result.
func rpclabOn(t *testing.T, program *cluster.Program, args ...string) result.Document {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	c := exec.Command(testkit.Rpclab(t), append([]string{"run", "--no-store", "--no-wait", "--json", file}, args...)...)
	c.Env = append(os.Environ(), program.Env...)
	c.Dir = program.Dir
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("rpclab %s: %v\n%s", strings.Join(c.Args[1:], " "), err, said)
	}
	return readResult(t, file)
}

// TestExperimentsOnTheExamples runs built-in experiments on services in Node and Python that know nothing of rpclab, on as
// many replicas as their service files say.
func TestExperimentsOnTheExamples(t *testing.T) {
	for _, name := range []string{"node-service", "python-service"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, args := range [][]string{
				{"channels", "--quick", "--rounds", "1", "--arms", "shared,endpointslice,pool"},
				{"churn", "--quick", "--set", "events=[{at: 200ms, scale: 4}, {at: 1450ms, kill: 1}, {at: 2700ms, scale: 2}]", "--arms", "clusterip-shared,endpointslice"},
				{"rollout", "--quick", "--arms", "clusterip,endpointslice,envoy"},
				{"proxy-tax", "--quick", "--rounds", "1", "--arms", "none,haproxy-gateway,nginx-gateway"},
			} {
				d := rpclabOnExample(t, name, append(args, "--service", "orders.yaml")...)
				for _, arm := range d.Arms {
					answered := uint64(0)
					for _, n := range arm.Backends {
						answered += n
					}
					if failed := arm.Failed(); answered == 0 || answered != arm.Calls-failed {
						t.Errorf("%s, arm %s: the backends answered %d of %d calls, of which %d failed: %v", args[0], arm.Name, answered, arm.Calls, failed, arm.Samples)
					}
				}
				for _, e := range d.Events {
					if e.Error != "" {
						t.Errorf("%s, arm %s: %s: %s", args[0], e.Arm, e.What, e.Error)
					}
					if took := changed(d, e); took != "" {
						t.Errorf("%s, arm %s: %s: %s", args[0], e.Arm, e.What, took)
					}
				}
			}
		})
	}
}

// changed says what an event should have done to the backends and did not; empty: nothing.
func changed(d result.Document, e result.Event) string {
	i := slices.IndexFunc(d.Arms, func(a result.Arm) bool { return a.Name == e.Arm })
	arm := d.Arms[i]
	trial := arm.Trials[slices.IndexFunc(arm.Trials, func(one result.Trial) bool { return one.Round == e.Round })]
	later := int(e.AtMS+1000) / int(trial.Timeline.IntervalMS) // a busy machine kills late
	for _, id := range e.Affected {
		if line := trial.Timeline.Backends[id]; e.Action == result.ActionKill && later < len(line) && slices.Max(line[later:]) > 0 {
			return fmt.Sprintf("%s answers calls: %v", id, line[later:])
		}
	}
	switch {
	case e.Action == result.ActionKill && len(e.Affected) != e.Count:
		return fmt.Sprintf("it affected %q", e.Affected)
	case e.Action == result.ActionRoll && e.Unfinished == nil && len(trial.Backends) < 2*e.Ready:
		return fmt.Sprintf("it replaced %d backends, and these were ready: %v", e.Ready, trial.Backends)
	}
	return ""
}

// TestRESTAgainstGRPCOfOneService compares two protocols of one Node service.
func TestRESTAgainstGRPCOfOneService(t *testing.T) {
	t.Parallel()
	d := rpclabOnExample(t, "node-service", "./rest-or-grpc.yaml", "--rounds", "4")
	for _, arm := range d.Arms {
		if arm.Calls == 0 || arm.Failed() > 0 || len(arm.Backends) != 3 {
			t.Errorf("arm %s: %d calls, errors %v, backends %v", arm.Name, arm.Calls, arm.Samples, arm.Backends)
		}
	}
	i := slices.IndexFunc(d.Verdicts, func(v result.Verdict) bool { return v.Metric == "latency_p50" && v.A == "rest" && v.B == "grpc" })
	if i < 0 {
		t.Fatalf("the run has no verdict on rest against grpc: %+v", d.Verdicts)
	}
	if v := d.Verdicts[i]; v.Decision == "undecided" && v.Reason == "" || v.Ratio <= 0 { // on a busy machine
		t.Errorf("the verdict on rest against grpc is %+v, want a decision, or why there is none", v)
	}
}

// TestTLSOfOneService executes the commands at the top of examples/python-service/tls.yaml, which compares calls in clear text
// with encrypted calls.
func TestTLSOfOneService(t *testing.T) {
	t.Parallel()
	python := exampleService(t, "python-service")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(python.Dir)); err != nil {
		t.Fatal(err)
	}
	python.Dir = dir
	text, err := os.ReadFile(filepath.Join(dir, "tls.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^# (openssl .*)$`).FindStringSubmatch(string(text))
	if command == nil {
		t.Fatal("tls.yaml has no command that makes the keys")
	}
	keys := exec.Command("sh", "-c", command[1])
	keys.Dir = dir
	if said, err := keys.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", keys, err, said)
	}
	d := rpclabOn(t, python, "./tls.yaml", "--rounds", "6", "--set", "load.closed.calls=100")
	for _, arm := range d.Arms {
		if arm.Calls == 0 || arm.Failed() > 0 || len(arm.Backends) != 1 || arm.Resources.Server.CPU <= 0 {
			t.Errorf("arm %s: %d calls, errors %v, backends %v, servers used %+v", arm.Name, arm.Calls, arm.Samples, arm.Backends, arm.Resources.Server)
		}
	}
	for a, b := range map[string]string{"tls": "plain", "tls-per-call": "plain-per-call"} {
		i := slices.IndexFunc(d.Verdicts, func(v result.Verdict) bool { return v.Metric == "client_cpu" && v.A == a && v.B == b })
		if i < 0 || a == "tls-per-call" && d.Verdicts[i].Ratio < 1.2 { // decided on a machine without other tests
			t.Errorf("the verdicts on the client's CPU time are %+v, want one of %s against %s, and that connections with TLS need more", d.Verdicts, a, b)
		}
	}
}
