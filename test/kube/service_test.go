package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// greeter writes a service file for a server of this text, which runs rpclab's own server as a program that
// knows nothing of the run.
func greeter(t *testing.T, server string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "hello.yaml")
	text := "service: hello\nserver: {" + server + "}\n" + `calls:
  hello: {method: rpclab.v1.Greeter/SayHello, data: {name: "you {{.Number}}"}, check: 'answer.message.startsWith("Hello, you")'}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// imageServer is a server of an image at another port than the default.
func imageServer(t *testing.T, more string) string {
	t.Helper()
	return fmt.Sprintf(`image: %q, port: 9000, args: [server, --listen, "{{.Address}}", --public, --id, "own-{{.ID}}"], resources: {memory: 128Mi}%s`, image(t, ""), more)
}

// checkArms checks that pods of a service answered all calls of all arms, as far as their names can be known.
func checkArms(t *testing.T, d result.Document, pods string) {
	t.Helper()
	for _, arm := range d.Arms {
		if arm.Calls == 0 || arm.Failed() > 0 {
			t.Errorf("arm %s: %d of %d calls failed: %v", arm.Name, arm.Failed(), arm.Calls, arm.Samples)
		}
		for id := range arm.Backends {
			if !regexp.MustCompile(pods).MatchString(id) {
				t.Errorf("arm %s: the backend %s answered, want pods %s", arm.Name, id, pods)
			}
		}
	}
}

func TestAnImageOfTheUserIsMeasured(t *testing.T) {
	t.Parallel()
	file := greeter(t, imageServer(t, ", replicas: 2"))
	d := mustRun(t, "channels", "--quick", "--rounds", "1", "--service", file, "--arms", "shared,endpointslice", "--set", "load.burst=50")
	checkArms(t, d, `^hello-\d+-`)
	for _, arm := range d.Arms {
		if used := len(arm.Backends); arm.Name == "endpointslice" && used != 2 {
			t.Errorf("%d backends of endpointslice are known, want 2: %v", used, arm.Backends)
		}
		if arm.Name == "shared" && arm.Trials[0].Unknown == "" {
			t.Errorf("rpclab knows which pods answered behind a virtual IP: %v", arm.Backends)
		}
		if arm.Resources.Server != (result.Usage{}) {
			t.Errorf("arm %s: the usage of the servers is %+v, want null", arm.Name, arm.Resources.Server)
		}
	}
}

func TestEventsOnAnImageOfTheUser(t *testing.T) {
	t.Parallel()
	file := greeter(t, imageServer(t, ", replicas: 3"))
	d := mustRun(t, "churn", "--quick", "--service", file, "--arms", "endpointslice", "--set", "load.open.rate=100",
		"--set", "load.open.duration=24s", "--set", "server.drain=2s", "--set", "caller.timeout=15s",
		"--set", "events=[{at: 1s, scale: 4}, {at: 7s, kill: 1}, {at: 12s, roll: true}]")
	trial := d.Arms[0].Trials[0]
	if len(trial.Events) != 3 || trial.Failed != "" || len(trial.Lost) > 0 {
		t.Fatalf("%d events, want 3; failure %q, lost %v", len(trial.Events), trial.Failed, trial.Lost)
	}
	for _, e := range trial.Events {
		t.Logf("%s: first call %s, balanced again %s; %d calls failed: %v", e.What, after(e.Took.FirstCall), after(e.Took.BalanceRestored), e.Failed, e.Errors)
		if e.Error != "" || e.Took.FirstCall == nil {
			t.Errorf("%s: error %q, and its first call at a new pod came after %s", e.What, e.Error, after(e.Took.FirstCall))
		}
	}
	if rolled := trial.Events[2]; rolled.Failed > 0 {
		t.Errorf("%d calls failed in a rollout with a drain time: %v", rolled.Failed, rolled.Errors)
	}
}

// TestAServerThatDoesNotStartIsExplained runs service files with one mistake each.
func TestAServerThatDoesNotStartIsExplained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server string
		want   []string
	}{
		"image": {`image: "nowhere/orders:1"`, []string{"cannot get the image nowhere/orders:1", "Check the name of the image"}},
		"crash": {fmt.Sprintf("image: %q, args: [serve-nothing]", image(t, "")), []string{"CrashLoopBackOff", "Its last lines:", `no command "serve-nothing"`}},
		"never ready": {strings.Replace(imageServer(t, ", timeout: 4s"), "{{.Address}}", "{{.Host}}:9001", 1),
			[]string{"was not ready within 4s: Readiness probe failed", "set server.port to its port", "Its last lines:"}},
		"stop": {imageServer(t, ", stop: {signal: INT}"), []string{"this cluster ignores the stop signal INT", "remove server.stop.signal"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := run(t, "channels", "--quick", "--arms", "shared", "--service", greeter(t, c.server))
			t.Logf("%s", s.stderr)
			if s.code != 3 {
				t.Errorf("exit code %d, want 3", s.code)
			}
			for _, want := range c.want {
				if !strings.Contains(s.stderr, want) {
					t.Errorf("the error does not contain %q", want)
				}
			}
		})
	}
}
