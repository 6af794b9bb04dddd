package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// stranger writes a service file for a program that does not know that an experiment runs: rpclab server
// without the flag --supervised.
func stranger(t *testing.T, changes ...string) (file string) {
	t.Helper()
	text := strings.NewReplacer(changes...).Replace(`service: hello
server:
  command: ["` + testkit.Rpclab(t) + `", "server", "--listen", "{{.Address}}", "--id", "own-{{.ID}}", "--delay", "2ms"]
  replicas: 3
calls:
  hello:
    method: rpclab.v1.Greeter/SayHello
    data: {name: "you {{.Number}}"}
    check: 'answer.message.startsWith("Hello, you")'
`)
	file = filepath.Join(t.TempDir(), "hello.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestChurnOfAServiceThatRpclabDoesNotKnow(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(try int, wrong func(string, ...any)) {
		d, _ := document(t, "churn", "--quick", "--service", stranger(t), "--arms", "clusterip-shared,endpointslice,headless",
			"--set", fmt.Sprintf("load.open.duration=%ds", 4*try*try)) // a busy machine starts backends late
		for _, arm := range d.Arms {
			answered := uint64(0)
			for id, n := range arm.Backends {
				answered += n
				if !regexp.MustCompile(`^hello-\d+$`).MatchString(id) {
					t.Errorf("arm %s: the backend %s answered, want the names of the replicas", arm.Name, id)
				}
			}
			if failed := arm.Failed(); answered != arm.Calls-failed || answered == 0 {
				wrong("arm %s: its backends answered %d of %d calls, of which %d failed: %v", arm.Name, answered, arm.Calls, failed, arm.Samples)
			}
		}
		for _, e := range d.Events {
			if e.Error != "" {
				wrong("%s of arm %s: %s", e.What, e.Arm, e.Error)
			}
			if e.Arm == "endpointslice" && e.What == "scale 10" && e.Took.FirstCall == nil {
				wrong("endpointslice never called a new backend")
			}
		}
	})
}

func TestTheRoutesOfAnUnknownServiceAreCompared(t *testing.T) {
	t.Parallel()
	d, _ := document(t, "channels", "--quick", "--rounds", "4", "--service", stranger(t), "--arms", "shared,endpointslice,pool")
	for _, arm := range d.Arms {
		if used := len(arm.Backends); used != 3 || arm.Failed() > 0 {
			t.Errorf("arm %s: %d backends, %v failed: %v", arm.Name, used, arm.Errors, arm.Samples)
		}
		busy := 0
		for _, n := range arm.Backends {
			if n > 0 {
				busy++
			}
		}
		if want := map[string]int{"shared": 1, "endpointslice": 3}[arm.Name]; want > 0 && busy != want {
			t.Errorf("arm %s calls %d backends, want %d: %v", arm.Name, busy, want, arm.Backends)
		}
	}
}

// Messages of a streaming method stay on their streams, and so on their backends, unless the caller renews the streams.
func TestLongStreamsOfAServiceThatRpclabDoesNotKnow(t *testing.T) {
	t.Parallel()
	file := stranger(t, "calls:\n", "calls:\n  greetings: {method: rpclab.v1.Greeter/Greetings, data: {name: \"you {{.Number}}\"}, check: 'answer.message.startsWith(\"Hello, you\")'}\n")
	arms := []string{"long-streams", "--quick", "--service", file, "--arms", "unary,streams,renewed"}
	undisturbed(t, func(try int, wrong func(format string, args ...any)) {
		// On a busy machine the new backends may not be ready before a short load ends. Of 20 users, at most 20 messages are
		// in flight, so the 60 streams of the warm-up suffice.
		load := fmt.Sprintf("load={closed: {users: 20, think: 20ms, duration: %ds}}", 6*try*try)
		d, _ := document(t, append(slices.Clone(arms), "--call", "greetings", "--set", load)...)
		for _, a := range d.Arms {
			if a.Failed() > 0 || a.Calls == 0 {
				lost(t, d, wrong)("arm %s: %d calls, errors %v %v, want none", a.Name, a.Calls, a.Errors, a.Samples)
			}
			var late uint64
			for _, id := range []string{"hello-3", "hello-4", "hello-5"} {
				late += a.Backends[id]
			}
			if a.Name == "streams" && late > 0 {
				wrong("arm %s: the new backends answered %d of its calls, want none, as its streams open before: %v", a.Name, late, a.Backends)
			}
			if a.Name != "streams" && late == 0 {
				wrong("arm %s: the new backends answered none of its calls: %v", a.Name, a.Backends)
			}
		}
	})
	refused := rpclab(t, append([]string{"run"}, append(arms, "--call", "hello")...)...)
	if refused.code != 2 || !strings.Contains(refused.stderr, "the call hello is not of a bidirectional streaming method: choose another with --call NAME") {
		t.Errorf("a unary call: exit code %d\n%s%s", refused.code, refused.stdout, refused.stderr)
	}
}

// The built-in experiment slows down one backend of a program that has no such command.
func TestPoliciesOfAServiceThatRpclabDoesNotKnow(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(try int, wrong func(string, ...any)) {
		d, _ := document(t, "policies", "--quick", "--service", stranger(t), "--arms", "round-robin,deadline,envoy-least-request",
			"--set", fmt.Sprintf("load.open.duration=%ds", 4*try*try))
		if len(d.FaultProxies) != 1 || d.FaultProxies[0].Service != "hello" || d.FaultProxies[0].Calls == 0 || d.FaultProxies[0].CPU == nil || *d.FaultProxies[0].CPU <= 0 {
			wrong("the costs of the fault proxy are %+v, want those of hello", d.FaultProxies)
		}
		if len(d.Events) != len(d.Arms) {
			t.Errorf("there are %d events for %d arms, want one each", len(d.Events), len(d.Arms))
		}
		for _, e := range d.Events {
			if e.Error != "" || !slices.Equal(e.Affected, []string{"hello-0"}) {
				wrong("%s of arm %s affected %v: %s; want hello-0", e.What, e.Arm, e.Affected, e.Error)
			}
		}
		for _, a := range d.Arms {
			for id := range a.Backends {
				if !regexp.MustCompile(`^hello-\d+$`).MatchString(id) {
					t.Errorf("arm %s: the backend %s answered, want the names of the replicas", a.Name, id)
				}
			}
			if len(a.Backends) != 3 {
				wrong("arm %s: the backends %v answered, want 3", a.Name, a.Backends)
			}
		}
	})
}

// A backend is slow, and then another call fails, without any help of the program.
func TestABackendOfAServiceIsSlowAndFails(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "faults.yaml")
	text := `experiment: faults
question: What does a slow backend cost, and what one that fails?
services:
  hello: {server: {command: ["` + testkit.Rpclab(t) + `", server, --listen, "{{.Address}}", --delay, 5ms], replicas: 2}, calls: {hello: {method: rpclab.v1.Greeter/SayHello, data: {name: x}}}}
defaults: {service: hello, workload: {call: hello}, route: endpointslice, caller: {timeout: 10s}, load: {open: {rate: 100, duration: 3s}}}
arms: {watching: {}}
events:
  - {at: 300ms, slow: {backends: 1, by: 400ms}}
  - {at: 1s, recover: true}
  - {at: 1500ms, fail: {backends: 1, code: RESOURCE_EXHAUSTED, share: 50 %}}
rounds: 1
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	undisturbed(t, func(_ int, wrong func(string, ...any)) {
		d, _ := document(t, file, "--rounds", "1")
		a := d.Arms[0]
		if failed := a.Errors["RESOURCE_EXHAUSTED"]; failed == 0 || failed != a.Failed() {
			wrong("the errors are %v %v, want only RESOURCE_EXHAUSTED", a.Errors, a.Samples)
		}
		if failed := a.Failed(); failed > 60 { // of about 75 calls to that backend
			wrong("%d calls failed, want half of those to one backend", failed)
		}
		if a.Service.P95 < 400 { // about 35 of 260 answered calls were slowed down
			wrong("the p95 of answered calls is %v ms, want at least 400", a.Service.P95)
		}
	})
}

// TestInitWritesAFileThatRuns follows a user from a running server to a comparison of routes to it.
func TestInitWritesAFileThatRuns(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	s := rpclab(t, "init", address)
	if s.code != 0 || !strings.Contains(s.stdout, "  say-hello:\n    method: rpclab.v1.Greeter/SayHello\n    data: {name: text}\n") {
		t.Fatalf("rpclab init: exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
	file := filepath.Join(t.TempDir(), "greeter.yaml")
	if err := os.WriteFile(file, []byte(s.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := document(t, "channels", "--quick", "--rounds", "4", "--service", file, "--arms", "shared,endpointslice")
	for _, arm := range d.Arms {
		if arm.Backends[address] != arm.Calls || arm.Calls == 0 {
			t.Errorf("arm %s: %s answered %d of %d calls: %v", arm.Name, address, arm.Backends[address], arm.Calls, arm.Samples)
		}
	}
	refused := rpclab(t, "run", "churn", "--quick", "--service", file, "--arms", "endpointslice")
	if refused.code != 2 || !strings.Contains(refused.stderr, "kill would disturb the service greeter, which rpclab did not start") {
		t.Errorf("an experiment that kills backends at addresses: exit code %d\n%s%s\nwant a refusal", refused.code, refused.stdout, refused.stderr)
	}
}

func TestWrongServiceFiles(t *testing.T) {
	t.Parallel()
	program := testkit.Rpclab(t)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	taken := other.Addr().String()
	for name, c := range map[string]struct {
		changes []string
		code    int
		want    string
	}{
		"port is taken":    {[]string{`"{{.Address}}", "--id", "own-{{.ID}}"`, `"` + taken + `", "--id", "{{.Host}}"`}, 3, "cannot listen on " + taken + ": listen tcp " + taken + ": bind: address already in use"},
		"no such program":  {[]string{`"` + program + `"`, `"./nothing"`}, 3, "deploy hello: server.command: there is no program ./nothing in /"},
		"it exits":         {[]string{`"--delay"`, `"--dely"`}, 3, "its last lines:\n  rpclab: unknown flag: --dely"},
		"template":         {[]string{"{{.Address}}", "{{.Adress}}"}, 2, `FILE:3:3: server.command, argument 3 ({{.Adress}}): no field {{.Adress}}; did you mean "Address"?`},
		"no address":       {[]string{"{{.Address}}", "127.0.0.1:50099"}, 3, "server.command has no {{.Address}} (host:port) and no {{.Host}}"},
		"no such method":   {[]string{"SayHello", "SayHelo"}, 2, `FILE:7:13: the service file does not fit the service: call hello: no method "SayHelo" in rpclab.v1.Greeter; did you mean "SayHello"?`},
		"no such field":    {[]string{"{name:", "{nam:"}, 2, `FILE:8:11: the service file does not fit the service: data of call hello is not a rpclab.v1.HelloRequest: `},
		"wrong check":      {[]string{"answer.message", "answer.mesage"}, 2, `FILE:9:12: the service file does not fit the service: check of call hello: "answer.mesage.startsWith(\"Hello, you\")": column 7: undefined field 'mesage'`},
		"wrong answers":    {[]string{"Hello, you", "Bye"}, 0, "CHECK"},
		"no such identity": {[]string{"calls:", "identity: {trailer: x-pod}\ncalls:"}, 0, "rpclab does not know which backends answered: no response has the trailer x-pod (identity in the service file)"},
	} {
		t.Run(name, func(t *testing.T) {
			file := stranger(t, c.changes...)
			s := rpclab(t, "run", "channels", "--quick", "--full", "--rounds", "1", "--set", "caller.warmup=0", "--arms", "shared,endpointslice", "--service", file)
			said := strings.Join(strings.Fields(strings.ReplaceAll(s.stdout+s.stderr, file, "FILE")), " ") // reports break lines
			if s.code != c.code || !strings.Contains(said, strings.Join(strings.Fields(c.want), " ")) {
				t.Errorf("exit code %d\n%s%s\nwant %d and %q", s.code, s.stdout, s.stderr, c.code, c.want)
			}
		})
	}
}

// TestAServiceThatIsNeverReady compares the error with a golden file. The program reports its problem and does not listen.
func TestAServiceThatIsNeverReady(t *testing.T) {
	t.Parallel()
	file := stranger(t, `"`+testkit.Rpclab(t)+`", "server"`, `"sh", "-c", "echo connecting to the database; echo no route to db:5432 >&2; exec sleep 600", "server"`,
		"replicas: 3", "replicas: 1\n  ready: tcp\n  timeout: 2s")
	s := rpclab(t, "run", "channels", "--quick", "--arms", "shared", "--service", file)
	text := strings.ReplaceAll(s.stderr, filepath.Dir(file), "DIR")
	text = regexp.MustCompile(`127(\.\d+){3}:\d+`).ReplaceAllString(text, "ADDRESS")
	testkit.Golden(t, "wrong/service-never-ready.txt", fmt.Sprintf("%sexit code %d\n", text, s.code))
}

// versions writes an experiment with three versions of a service: new is slower than old, and incompatible serves another
// protocol.
func versions(t *testing.T, arms string) (file string) {
	t.Helper()
	version := func(name, arguments, more string) string {
		return name + `: {server: {command: ["` + testkit.Rpclab(t) + `", server, --listen, "{{.Address}}", ` + arguments + `]` + more + `}, calls: {hello: {method: rpclab.v1.Greeter/SayHello, data: {name: x}}}}`
	}
	file = filepath.Join(t.TempDir(), "versions.yaml")
	text := `experiment: versions
question: What changes with version 2?
services:
  ` + version("old", "--delay, 20ms", "") + `
  ` + version("new", "--delay, 21ms", "") + `
  ` + version("incompatible", "--model, rest", ", ready: tcp") + `
defaults: {workload: {call: hello}, route: endpointslice, load: {open: {rate: 100, duration: 3s}}}
` + arms
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A shared connection through a ClusterIP reaches one backend, the other routes reach all.
func TestBalancingOfAServiceThatRpclabDoesNotKnow(t *testing.T) {
	t.Parallel()
	d, _ := document(t, "balancing", "--quick", "--service", stranger(t), "--arms", "clusterip,headless,envoy,endpointslice,xds,haproxy,nginx")
	for _, arm := range d.Arms {
		want := 3
		if arm.Name == "clusterip" {
			want = 1
		}
		used := 0
		for _, n := range arm.Backends {
			if n > 0 {
				used++
			}
		}
		if arm.Calls == 0 || len(arm.Errors) > 0 || used != want {
			t.Errorf("%s: %d calls, errors %v, calls by backend %v; want %d backends and no error", arm.Name, arm.Calls, arm.Samples, arm.Backends, want)
		}
	}
}

// TestTwoVersionsOfAServiceAreToldApart: one is 5 % slower. It runs alone: on a busy machine rpclab sends calls late, and
// gives no verdict.
func TestTwoVersionsOfAServiceAreToldApart(t *testing.T) {
	file := versions(t, "arms: {old: {service: old}, new: {service: new}}\ndesign: interleaved\nheadline: [p50]\n")
	undisturbed(t, func(try int, wrong func(string, ...any)) {
		slower, _ := document(t, file, "--for", fmt.Sprintf("%ds", 30*try))
		i := slices.IndexFunc(slower.Verdicts, func(v result.Verdict) bool { return v.Metric == "latency_p50" && v.A == "new" })
		if i < 0 {
			t.Fatalf("there is no verdict on the median among %d", len(slower.Verdicts))
		}
		if v := slower.Verdicts[i]; v.Decision != "worse" {
			wrong("at the median, new takes %.3g times as long as old: %s, %s; want worse, about 1.05 times as long", v.Ratio, v.Decision, v.Reason)
		}
	})
}

func TestARolloutToAnIncompatibleVersionFailsCalls(t *testing.T) {
	t.Parallel()
	file := versions(t, "arms: {watching: {service: old}, fixed: {service: old, route: clusterip}}\nevents: [{at: 500ms, roll_to: incompatible}]\nrounds: 1\n")
	undisturbed(t, func(try int, wrong func(string, ...any)) { // a busy machine starts the other version late
		rolled, _ := document(t, file, "--rounds", "1", "--set", fmt.Sprintf("load.open.duration=%ds", 8*try*try))
		for _, arm := range rolled.Arms {
			// The new version answers with HTTP 404, which gRPC reads as this code.
			if arm.Errors["UNIMPLEMENTED"] == 0 || arm.Errors["UNIMPLEMENTED"] < arm.Failed()/2 {
				wrong("arm %s: after the rollout to an incompatible version calls failed with %v %v", arm.Name, arm.Errors, arm.Samples)
			}
		}
	})
}
