package local_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/testkit"
)

// program is a server that knows nothing of this cluster.
func program(t *testing.T, args ...string) *cluster.Program {
	t.Helper()
	return &cluster.Program{Command: append([]string{testkit.Rpclab(t), "server", "--listen", "{{.Address}}", "--id", "own-{{.ID}}"}, args...)}
}

// script is a shell that starts a server as its child, $!.
func script(t *testing.T, text string) *cluster.Program {
	t.Helper()
	return &cluster.Program{Command: []string{"sh", "-c", `"$0" server --listen "$1" & ` + text, testkit.Rpclab(t), "{{.Address}}"}}
}

func TestAProgramRunsAsBackends(t *testing.T) {
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Program: program(t), Replicas: 3})
	if err := d.ResetUsage(); err != nil {
		t.Fatal(err)
	}
	for _, e := range ready(d) {
		if message, _, _ := greet(t, e); message != "own-"+e.ID || int(e.Addr.Port()) != d.Service().Port {
			t.Errorf("%s at %s answers as %s; want the backend's own name, and port %d", e.ID, e.Addr, message, d.Service().Port)
		}
	}
	if counts := d.CallCounts(); len(counts) != 0 {
		t.Errorf("the counts of calls are %v, want none: the program does not tell", counts)
	}
	if used := d.Usage()["greeter-0"]; used.CPU <= 0 || used.MaxRSS < 1<<20 {
		t.Errorf("the usage is %+v, want CPU time and memory", used)
	}
	if _, known := d.(cluster.FoundProcesses).FoundProcesses(); !known {
		t.Error("its processes are not known")
	}
	must(t)(d.Kill(t.Context(), 1))
	testkit.Await(t, "greeter-3 replaces greeter-0", func() bool {
		return slices.Equal(ids(ready(d)), []string{"greeter-1", "greeter-2", "greeter-3"})
	})
	must(t)(d.Scale(t.Context(), 2))
	testkit.Await(t, "one has exited", func() bool { now, _ := d.Endpoints().Current(); return len(now.Endpoints) == 2 })
	must(t)(d.Stop(t.Context(), 1))
	testkit.Await(t, "greeter-4 replaces greeter-1", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-2", "greeter-4"}) })
	if failures := d.Failures(); len(failures) > 0 {
		t.Errorf("the failures are %q, want none", failures)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestAProgramIsNeitherSlowNorFailsWithoutAFaultProxy(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Program: program(t), Replicas: 1})
	for name, fault := range map[string]func() ([]string, error){
		"slow": func() ([]string, error) { return d.Slow(t.Context(), 1, time.Second, 0) },
		"fail": func() ([]string, error) { return d.Fail(t.Context(), 1, "UNAVAILABLE", 1) },
	} {
		want := name + " greeter: only rpclab's own server can do that without a fault proxy, and server.command is another program"
		if _, err := fault(); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
	if _, err := d.Slow(t.Context(), 1, 0, 0); err != nil {
		t.Errorf("the end of slow: %v", err)
	}
	recoverAll(t, d)
}

func TestTheProcessesThatAProgramStartsArePausedMeasuredAndEnded(t *testing.T) {
	testChildren(t, script(t, "wait"))
}

func testChildren(t *testing.T, program *cluster.Program) {
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Program: program, Replicas: 2})
	if err := d.ResetUsage(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		greet(t, ready(d)[0])
	}
	busy := d.Usage()["greeter-0"]
	if busy.CPU < time.Millisecond || busy.MaxRSS < 10<<20 {
		t.Errorf("the usage is %+v, want that of the shell's child", busy)
	}
	must(t)(d.Pause(t.Context(), 1))
	awaitReady(t, d, 1)
	if err := d.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, d, 2)
	must(t)(d.Kill(t.Context(), 1))
	testkit.Await(t, "greeter-2 replaces greeter-0", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-1", "greeter-2"}) })
	if after := d.Usage()["greeter-0"]; after.CPU < busy.CPU {
		t.Errorf("after the kill the usage is %+v, want at least %+v", after, busy)
	}
	stopped := ready(d)[0].Addr.String()
	must(t)(d.Stop(t.Context(), 1))
	testkit.Await(t, "greeter-3 replaces greeter-1", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-2", "greeter-3"}) })
	last := ready(d)[0].Addr.String()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	for _, address := range []string{stopped, last} {
		testkit.Await(t, "nobody listens at "+address, func() bool {
			conn, err := net.Dial("tcp", address)
			return err != nil || conn.Close() != nil
		})
	}
}

func TestAProgramIsStoppedByItsSignalAfterTheDrain(t *testing.T) {
	t.Parallel()
	const drain = 300 * time.Millisecond
	said := filepath.Join(t.TempDir(), "said")
	p := script(t, `trap "echo QUIT in $PWD >$SAID; kill $!; wait; exit" QUIT; wait`)
	p.Env, p.Signal, p.Dir = []string{"SAID={{if .ID}}" + said + "{{end}}"}, "QUIT", filepath.Dir(said)
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Program: p, Replicas: 2, Drain: drain})
	client := channelTo(t, ready(d)[1])
	began := time.Now()
	must(t)(d.Scale(t.Context(), 1))
	if now, _ := d.Endpoints().Current(); !now.Endpoints[1].Terminating {
		t.Errorf("the endpoint is %+v, want it terminating", now.Endpoints[1])
	}
	if err := longHello(t, client); err != nil && time.Since(began) < drain {
		t.Errorf("a call during the drain fails: %v", err)
	}
	testkit.Await(t, "the program says QUIT", func() bool { text, _ := os.ReadFile(said); return string(text) == "QUIT in "+p.Dir+"\n" })
	if after := time.Since(began); after < drain {
		t.Errorf("the signal came after %s, want %s at least", after, drain)
	}
	testkit.Await(t, "the backend is removed", func() bool { now, _ := d.Endpoints().Current(); return len(now.Endpoints) == 1 })
}

func TestAProgramThatIgnoresItsSignalIsKilledAfterTheGrace(t *testing.T) {
	t.Parallel()
	p := script(t, `trap "" TERM; wait`)
	p.Grace = 50 * time.Millisecond
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Program: p, Replicas: 2})
	must(t)(d.Scale(t.Context(), 1))
	testkit.Await(t, "the backend is removed", func() bool { now, _ := d.Endpoints().Current(); return len(now.Endpoints) == 1 })
	if failures := d.Failures(); len(failures) > 0 {
		t.Errorf("the failures are %q, want none", failures)
	}
}

func TestARolloutToAnotherVersion(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Program: program(t), Replicas: 2})
	version2 := program(t)
	version2.Command[len(version2.Command)-1] = "version-2-{{.ID}}"
	must(t)(d.Rollout(t.Context(), version2))
	testkit.Await(t, "greeter-2 and greeter-3 replace all others", func() bool {
		now, _ := d.Endpoints().Current()
		return slices.Equal(ids(now.Endpoints), []string{"greeter-2", "greeter-3"})
	})
	testkit.Await(t, "the rollout has ended", func() bool {
		_, err := d.Rollout(t.Context(), &cluster.Program{Command: []string{"./no-such-program", "{{.Address}}"}})
		return err != nil && strings.Contains(err.Error(), "roll out greeter: server.command: there is no program ./no-such-program in ")
	})
	must(t)(d.Kill(t.Context(), 1))
	for _, e := range awaitBackends(t, d, "greeter-3", "greeter-4") {
		if message, _, _ := greet(t, e); message != "version-2-"+e.ID {
			t.Errorf("%s answers as %s, want version-2-%[1]s, also from the replacement of a killed backend", e.ID, message)
		}
	}
	must(t)(d.Rollout(t.Context(), &cluster.Program{Command: []string{"sh", "-c", "echo no licence; exit 7", "{{.Address}}"}}))
	testkit.Await(t, "the rollout has ended", func() bool {
		return strings.Contains(strings.Join(d.Failures(), "\n"), "ended before all backends were replaced")
	})
	if failures := strings.Join(d.Failures(), "\n"); !strings.Contains(failures, "no licence") {
		t.Errorf("the failures are %s, want the log line no licence", failures)
	}
	awaitBackends(t, d, "greeter-3", "greeter-4")
}

// awaitBackends waits until these backends are ready.
func awaitBackends(t *testing.T, d cluster.Deployment, want ...string) []cluster.Endpoint {
	t.Helper()
	testkit.Await(t, fmt.Sprintf("%v are ready", want), func() bool { return slices.Equal(ids(ready(d)), want) })
	return ready(d)
}

func TestErrorsOfAProgramNameTheCauseAndTheRemedy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"orders": "#!/bin/sh\n", "readme": "text"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "orders"), 0o700); err != nil {
		t.Fatal(err)
	}
	listen := fmt.Sprintf("exec %s server --listen $0", testkit.Rpclab(t))
	for _, test := range []struct {
		program cluster.Program
		want    []string
	}{
		{cluster.Program{Command: []string{"./order", "{{.Address}}"}}, []string{"deploy greeter: server.command: there is no program ./order in " + dir}},
		{cluster.Program{Command: []string{"./readme", "{{.Address}}"}}, []string{"./readme in " + dir + " cannot be executed: make it executable with chmod +x"}},
		{cluster.Program{Command: []string{"orders", "{{.Address}}"}}, []string{"there is no program orders in PATH; for the one in " + dir + " write ./orders"}},
		{cluster.Program{Command: []string{"no-such-orders", "{{.Address}}"}}, []string{"there is no program no-such-orders in PATH, and none in " + dir}},
		{cluster.Program{Command: []string{"sh"}, Env: []string{"PATH=/nowhere"}}, []string{"there is no program sh in PATH"}},
		{cluster.Program{Command: []string{"sh"}, Dir: "/no/such/directory"}, []string{"server.dir: there is no directory /no/such/directory"}},
		{cluster.Program{Command: []string{"sh", "-c", "exit 3", "{{.Adress}}"}}, []string{`no field {{.Adress}}; did you mean "Address"?`}},
		{cluster.Program{Command: []string{"sh", "-c", "exit 3", "{{.Port}}"}}, []string{"server.command has no {{.Address}} (host:port)", "2 replicas"}},
		{cluster.Program{Command: []string{"sh", "-c", "echo no licence for $0 >&2; exit 3", "{{.Address}}"}},
			[]string{"server greeter-", "did not start: exit status 3; its command, in " + dir + ":\n  sh -c echo no licence", "its last lines:\n  no licence for 127."}},
		{cluster.Program{Command: []string{"sh", "-c", "echo I sleep; exec sleep 60", "{{.Address}}"}, ReadyTimeout: 2 * time.Second},
			[]string{"was not ready within 2s: its gRPC health check failed with Unavailable", "connection refused", "I sleep"}},
		{cluster.Program{Command: []string{"sh", "-c", "exec sleep 60", "{{.Host}}"}, ReadyTimeout: 2 * time.Second, Ready: cluster.Ready{Kind: "tcp"}},
			[]string{"was not ready within 2s: dial tcp", "(nothing was written)"}}, // refused, or a timeout on a busy machine
		{cluster.Program{Command: []string{"sh", "-c", listen + " --model rest", "{{.Address}}"}, ReadyTimeout: 2 * time.Second, Ready: cluster.Ready{Kind: "http", Path: "/health"}},
			[]string{"was not ready within 2s: not serving: GET http://127.", "/health answers 404 Not Found"}},
	} {
		if test.program.Dir == "" {
			test.program.Dir = dir
		}
		c := newCluster(t, local.Options{})
		_, err := c.Deploy(t.Context(), cluster.Spec{Name: "greeter", Program: &test.program, Replicas: 2})
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v, want %q", test.program.Command, err, want)
			}
		}
	}
}

func TestAProgramIsReadyByHTTP(t *testing.T) {
	t.Parallel()
	p := program(t, "--model", "rest")
	p.Ready = cluster.Ready{Kind: cluster.ReadyHTTP, Path: "/healthz"}
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Program: p, Replicas: 1})
	if len(ready(d)) != 1 {
		t.Errorf("ready are %v, want one", ready(d))
	}
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Program: program(t), Replicas: 1})
	addr := ready(d)[0].Addr
	next := net.TCPAddr{IP: addr.Addr().Next().AsSlice(), Port: int(addr.Port())}
	taken, err := net.Listen("tcp", next.String())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = d.Scale(t.Context(), 2)
	if want := fmt.Sprintf("server greeter-1 cannot listen at %s: another process already listens there", &next); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAProgramWithoutAnAddressRunsAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, local.Options{})
	first := ready(deploy(t, c, cluster.Spec{Program: program(t), Replicas: 1}))[0].Addr
	p := program(t)
	p.Command[3] = netip.AddrPortFrom(first.Addr().Next(), first.Port()).String()
	d := deploy(t, c, cluster.Spec{Program: p, Replicas: 1})
	for name, event := range map[string]func() ([]string, error){
		"scale":    func() ([]string, error) { return d.Scale(t.Context(), 2) },
		"stop":     func() ([]string, error) { return d.Stop(t.Context(), 1) },
		"roll out": func() ([]string, error) { return d.Rollout(t.Context(), nil) },
	} {
		if _, err := event(); err == nil || !strings.Contains(err.Error(), "server.command has no {{.Address}}") {
			t.Errorf("%s: error %v, want one about {{.Address}}", name, err)
		}
	}
}

func TestAnInterruptedDeployOfAProgramLeavesNoProcess(t *testing.T) {
	c := newCluster(t, local.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	p := &cluster.Program{Command: []string{"sh", "-c", "sleep 600 & sleep 600", "{{.Address}}"}}
	if _, err := c.Deploy(ctx, cluster.Spec{Name: "greeter", Program: p, Replicas: 2}); err == nil {
		t.Error("Deploy of a program that is never ready succeeds")
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
