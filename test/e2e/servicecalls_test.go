package e2e

import (
	"os"
	"path/filepath"
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

func TestAnEmptyDataFileIsNamed(t *testing.T) {
	t.Parallel()
	file := writeOwnServer(t, " \n")
	s := rpclab(t, "run", file)
	if want := "data of call greet: " + filepath.Join(filepath.Dir(file), "names.csv") + " is empty"; s.code != 2 || !strings.Contains(s.stderr, want) {
		t.Errorf("exit code %d, want 2 and %q:\n%s", s.code, want, s.stderr)
	}
}
