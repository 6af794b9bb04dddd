package lab_test

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"rpclab/internal/agent"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/process"
	"rpclab/internal/testkit"
)

// behindAgents is a cluster whose callers run behind agents, as in pods.
type behindAgents struct {
	cluster.Cluster
	t *testing.T

	mu       sync.Mutex
	agents   []*process.Process
	conns    []*grpc.ClientConn
	programs []cluster.Process
}

// StartCallers starts an agent for each program.
func (a *behindAgents) StartCallers(ctx context.Context, spec cluster.CallerSpec) (all []cluster.Caller, err error) {
	for n := range spec.Count {
		name := fmt.Sprintf("%s-%d", spec.Name, n)
		var caller cluster.Caller
		if caller.Process, err = a.start(ctx, name, spec.Args); err != nil {
			return all, err
		}
		if spec.Sidecar != nil {
			if caller.Sidecar, err = a.start(ctx, name+"-sidecar", spec.Sidecar); err != nil {
				return all, err
			}
		}
		all = append(all, caller)
	}
	return all, nil
}

func (a *behindAgents) start(ctx context.Context, name string, args []string) (cluster.Process, error) {
	host, err := process.Start(process.Spec{Args: []string{testkit.Rpclab(a.t), "agent", "--listen", "127.0.0.1:0"}})
	if err != nil {
		return nil, err
	}
	serving := regexp.MustCompile(`msg=serving address=(\S+)`)
	testkit.AwaitFor(a.t, time.Minute, "the agent listens", func() bool { return serving.MatchString(host.Log()) })
	conn, err := agent.Dial(serving.FindStringSubmatch(host.Log())[1], nil)
	if err != nil {
		return nil, err
	}
	p, err := agent.Attach(ctx, conn, agent.Target{Name: name, Host: ownAddress(a.t), Args: append([]string{"rpclab"}, args...)})
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.agents, a.conns, a.programs = append(a.agents, host), append(a.conns, conn), append(a.programs, p)
	return p, nil
}

// ownAddress returns an address at which other machines reach this machine, as they reach a pod.
// Without a network it is loopback.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if at, ok := a.(*net.IPNet); ok && at.IP.To4() != nil && at.IP.IsGlobalUnicast() {
			return at.IP.String()
		}
	}
	return "127.0.0.1"
}

// remote returns options of a run whose callers run behind agents. The test fails if a program still
// runs at the end.
func remote(t *testing.T) lab.Options {
	t.Helper()
	o := options(t)
	a := &behindAgents{Cluster: o.Cluster, t: t}
	o.Cluster, o.Remote = a, true
	t.Cleanup(func() {
		for i, p := range a.programs {
			select {
			case <-p.Done():
			default:
				t.Errorf("%s still runs after the run", p.Name())
				p.Kill()
			}
			a.conns[i].Close()
			a.agents[i].Kill()
		}
	})
	return o
}

func TestCallsReachBackendsThroughInfrastructureInPods(t *testing.T) {
	t.Parallel()
	o := remote(t)
	d, err := lab.Run(t.Context(), plan(t, `
experiment: remote
question: Does infrastructure work in pods?
defaults:
  workload: {greet: {}}
  server: {replicas: 3}
  caller: {warmup: 10}
  load: {burst: 60}
arms:
  none: {route: endpointslice}
  xds: {route: xds}
  envoy: {route: envoy}
  haproxy: {route: haproxy}
  nginx: {route: nginx}
  forwarder: {route: forwarder, caller: {channel: per-call}}
  envoy-sidecar: {route: envoy, proxy: {place: sidecar}, callers: 2}
  nginx-sidecar: {route: nginx, proxy: {place: sidecar}, callers: 2}
rounds: 1
`, experiment.Options{Seed: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range d.Arms {
		if a.Calls != 60 || len(a.Errors) != 0 || len(a.Trials[0].Lost) != 0 || a.Trials[0].Failed != "" {
			t.Errorf("%s: %d calls, errors %v, failed %q, lost %q", a.Name, a.Calls, a.Errors, a.Trials[0].Failed, a.Trials[0].Lost)
		}
		if a.Name != "forwarder" && a.Balance.Jain < 0.99 {
			t.Errorf("%s: Jain's index is %.3f: %v", a.Name, a.Balance.Jain, a.Trials[0].Backends)
		}
		proxied := a.Name != "none" && a.Name != "xds"
		if used := a.Resources.Proxy; proxied != (used.CPU > 0 && used.RSS > 0) {
			t.Errorf("%s: the usage of its proxy is %+v", a.Name, used)
		}
		var files []string
		at := "127.0.0.1"
		switch a.Name {
		case "envoy":
			files, at = []string{"envoy-0/envoy.json"}, ownAddress(t)
		case "envoy-sidecar":
			files = []string{"caller-0-sidecar/envoy-0/envoy.json", "caller-1-sidecar/envoy-0/envoy.json"}
		}
		for _, name := range files {
			if !strings.Contains(a.Files[name], at) {
				t.Errorf("%s: its files are %v", a.Name, a.Files)
			}
		}
	}
	if d.Machine.Tools["envoy"] == "" || d.Machine.Tools["nginx"] == "" {
		t.Errorf("versions: %v", d.Machine.Tools)
	}
}

func TestCallsReachBackendsThroughAGatewayInAPod(t *testing.T) {
	t.Parallel()
	o := remote(t)
	d, err := lab.Run(t.Context(), plan(t, `
experiment: remote
question: Does a gateway work in a pod?
defaults:
  workload: {fibonacci: {from: 10, to: 20}}
  server: {replicas: 3}
  gateway: {iterations: 30}
  caller: {kind: http, warmup: 2}
  load: {closed: {users: 2, calls: 6}}
arms:
  endpointslice: {route: endpointslice}
  envoy: {route: envoy, proxy: {place: sidecar}}
rounds: 1
`, experiment.Options{Seed: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range d.Arms {
		if len(a.Errors) != 0 || a.Calls == 0 || a.Balance.Jain < 0.99 || a.Resources.Gateway.CPU <= 0 || len(a.Trials[0].Lost) != 0 {
			t.Errorf("%s: %d calls, errors %v, Jain's index %.3f, gateway %+v, lost %q", a.Name, a.Calls, a.Errors, a.Balance.Jain, a.Resources.Gateway, a.Trials[0].Lost)
		}
		if proxied := a.Name == "envoy"; proxied != (a.Resources.Proxy.CPU > 0) {
			t.Errorf("%s: the usage of its proxy is %+v", a.Name, a.Resources.Proxy)
		}
	}
}

func TestAProxyInAPodIsRestartedAfterAKill(t *testing.T) {
	t.Parallel()
	o := remote(t)
	d, err := lab.Run(t.Context(), plan(t, `
experiment: remote
question: Is a killed proxy restarted in a pod?
defaults:
  workload: {greet: {}}
  server: {replicas: 2}
  caller: {warmup: 10}
  load: {open: {rate: 50, duration: 5s}}
arms:
  haproxy: {route: haproxy}
  none: {route: direct}
events: [{at: 500ms, kill_proxy: true}]
rounds: 1
`, experiment.Options{Seed: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range d.Arms {
		trial := a.Trials[0]
		if len(trial.Events) != 1 || len(trial.Lost) != 0 || trial.Failed != "" {
			t.Fatalf("%s: events %+v, lost %q, failed %q", a.Name, trial.Events, trial.Lost, trial.Failed)
		}
		failed := trial.Events[0].Error
		if a.Name == "haproxy" && (failed != "" || trial.Timeline.Backends == nil) || a.Name == "none" && !strings.Contains(failed, "no proxy") {
			t.Errorf("%s: killing its proxy: %q", a.Name, failed)
		}
	}
	haproxy := arm(t, d, "haproxy")
	last := 0
	for _, counts := range haproxy.Trials[0].Timeline.Backends {
		last = max(last, len(counts))
	}
	if last < 45 {
		t.Errorf("the last call was answered in interval %d of 50: the proxy was not restarted", last)
	}
}
