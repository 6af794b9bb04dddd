package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// ownServer is an experiment on a program whose methods rpclab learns by reflection.
const ownServer = `experiment: own
question: Which calls does this server answer?
services:
  hello:
    server:
      command: [RPCLAB, server, --listen, "{{.Address}}", --id, "own-{{.ID}}"]
      replicas: 2
    calls:
      greet: {method: rpclab.v1.Greeter/SayHello, data: "@names.csv", check: 'answer.message.contains("of the file")'}
      no-greet: {method: rpclab.v1.Greeter/SayHello, data: {name: you}, check: 'answer.message == ""'}
      greetings: {method: rpclab.v1.Greeter/Greetings, data: {name: you}, stream: {requests: 3, ping_pong: true}, check: 'answer.message.contains("you")'}
      watch: {method: grpc.health.v1.Health/Watch, stream: {messages: 1}}
defaults:
  service: hello
  route: headless
  policy: round_robin
  caller: {warmup: 2}
  load: {closed: {users: 2, calls: 20, duration: 20s}}
arms:
  greet: {workload: {call: greet}}
  greet-wire: {workload: {call: greet}, caller: {kind: wire}}
  greetings: {workload: {call: greetings}}
  greetings-wire: {workload: {call: greetings}, caller: {kind: wire}}
  watch: {workload: {call: watch}}
  mixed: {workload: {mix: {greet: 75%, greetings: 25%}}}
  mixed-wire: {workload: {mix: {greet: 3, no-greet: 1}}, caller: {kind: wire}}
rounds: 1
`

// writeOwnServer writes the experiment and its data.
func writeOwnServer(t *testing.T, rows string) (file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "own.yaml")
	for path, text := range map[string]string{file: strings.Replace(ownServer, "RPCLAB", testkit.Rpclab(t), 1), filepath.Join(dir, "names.csv"): rows} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func TestArmsCallStreamsAndSendDataFiles(t *testing.T) {
	t.Parallel()
	d, _ := document(t, writeOwnServer(t, "name\nfirst of the file\nsecond of the file\n"), "--no-wait")
	for name, responses := range map[string]int64{"greet": 0, "greet-wire": 0, "greetings": 60, "greetings-wire": 60, "watch": 20} {
		a := arm(t, d, name)
		if a.Calls != 20 || len(a.Errors) > 0 || len(a.Backends) != 2 {
			t.Errorf("%s: %d calls, errors %v %v, backends %v; want 20 calls of 2 backends", name, a.Calls, a.Errors, a.Samples, a.Backends)
		}
		if a.Messages == nil {
			if responses > 0 {
				t.Errorf("%s: no response of a stream was recorded", name)
			}
			continue
		}
		if times, err := a.Messages.Decode(); err != nil || times.TotalCount() != responses {
			t.Errorf("%s: %d responses, %v; want %d", name, times.TotalCount(), err, responses)
		}
	}
}

// TestAnArmMakesAMixOfCalls: the calls have their shares, and figures of their own.
func TestAnArmMakesAMixOfCalls(t *testing.T) {
	t.Parallel()
	d, _ := document(t, writeOwnServer(t, "name\nfirst of the file\n"), "--no-wait", "--arms", "mixed,mixed-wire")
	for name, failed := range map[string]uint64{"mixed": 0, "mixed-wire": 5} {
		a := arm(t, d, name)
		var due []uint64
		for _, call := range slices.Sorted(maps.Keys(a.ByName)) {
			due = append(due, a.ByName[call].Due)
		}
		if !slices.Equal(due, []uint64{15, 5}) || a.Failed() != failed || a.ByName["no-greet"].Errors["CHECK"] != failed || a.ByName["greet"].Latency.P99 <= 0 {
			t.Errorf("%s: %v calls due, %+v, errors %v %v; want 15 and 5, of which %d fail", name, due, a.ByName, a.Errors, a.Samples, failed)
		}
	}
}

// TestAMixOnACommandLine runs a built-in experiment with two calls, and shows both.
func TestAMixOnACommandLine(t *testing.T) {
	t.Parallel()
	file := stranger(t, "calls:\n", "calls:\n  bye: {method: rpclab.v1.Greeter/SayHello, data: {name: bye}}\n")
	args := []string{"run", "channels", "--quick", "--rounds", "1", "--no-wait", "--no-store", "--arms", "shared", "--set", "load.burst=20", "--service", file}
	s := rpclab(t, append(args, "--mix", "hello=80%,bye=20%")...)
	if s.code != 0 || !strings.Contains(s.stdout, "shared · bye ") || !strings.Contains(s.stdout, "shared · hello ") {
		t.Errorf("exit code %d\n%s%s\nwant a row for each call", s.code, s.stdout, s.stderr)
	}
	for mix, want := range map[string]string{
		"hello=80%,by=20%":  `--mix by=20%,hello=80%: the service hello has no call "by"; did you mean "bye"?`,
		"hello=80%,bye=10%": "the shares of workload.mix add up to 90 %, not 100 %",
		"hello=80%,bye=1":   "workload.mix has percentages and weights: use one of them for all calls",
		"hello=x,bye=1":     `workload.mix, call hello: "x" is not a share: use a percentage such as 80%, or a weight`,
		"hello=1":           "workload.mix needs at least two calls: for one, set workload to call: NAME",
	} {
		if s := rpclab(t, append(args, "--mix", mix)...); s.code != 2 || !strings.Contains(s.stderr, want) {
			t.Errorf("--mix %s: exit code %d, %s\nwant 2 and %s", mix, s.code, s.stderr, want)
		}
	}
}

func TestAnEmptyDataFileIsNamed(t *testing.T) {
	t.Parallel()
	file := writeOwnServer(t, " \n")
	s := rpclab(t, "run", file)
	if want := "data of call greet: " + filepath.Join(filepath.Dir(file), "names.csv") + " is empty"; s.code != 2 || !strings.Contains(s.stderr, want) {
		t.Errorf("exit code %d, want 2 and %q:\n%s", s.code, want, s.stderr)
	}
}
