package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit"
	"rpclab/internal/testkit/pages"
)

// fewArms are the arms of those commands of the guide that take long with all of them and several rounds.
var fewArms = map[string]string{"churn": "clusterip-shared,endpointslice", "rollout": "clusterip,endpointslice", "policies": "round-robin,least-request"}

// ownExperiments are the experiments of the guide, with flags that make them short.
var ownExperiments = map[string]string{"versions.yaml": "--rounds 4 --set load.open.duration=1s", "roll.yaml": "--rounds 1"}

// TestTheGuideToYourService executes docs/your-service.md from top to bottom: its files are written and its commands
// run, except those for Kubernetes, which the tests there run, and those that another test executes.
func TestTheGuideToYourService(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/your-service.md")
	if err != nil {
		t.Fatal(err)
	}
	address, _ := greeterAt(t)
	dir, data := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string]string{"greeter": `"$@"`, "v1": `--listen "$1" --delay 2ms`, "v2": `--listen "$1" --delay 3ms`} {
		write(name, "#!/bin/sh\nexec '"+testkit.Rpclab(t)+"' server "+args+"\n")
	}
	service, commands := "", 0
	run := func(line string) {
		t.Helper()
		line, output, _ := strings.Cut(line, " > ")
		args := strings.Fields(line)[1:]
		if arms := fewArms[args[min(1, len(args)-1)]]; arms != "" {
			args = append(args, "--arms", arms, "--rounds", "1")
		}
		c := command(t, data, args...)
		c.Dir = dir
		s, err := ran(c)
		if err != nil || s.code != 0 {
			t.Fatalf("%s: exit code %d, %v\n%s%s", line, s.code, err, s.stdout, s.stderr)
		}
		if output != "" {
			write(output, s.stdout)
		}
		commands++
	}
	for _, b := range pages.Blocks(string(text)) {
		if strings.HasPrefix(b.Note, "tested by ") {
			continue
		}
		block := strings.NewReplacer("127.0.0.1:50051", address, "shop.Orders/Get", sayHello).Replace(b.Text)
		switch first, _, _ := strings.Cut(block, " "); {
		case first == "rpclab":
			for line := range strings.Lines(block) {
				if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "--on kubernetes") {
					run(line)
				}
			}
		case first == "service:":
			service = block
			write("greeter.yaml", service)
		case strings.HasPrefix(block, "server:\n  command:"):
			_, calls, _ := strings.Cut(service, "calls:")
			write("greeter.yaml", "service: greeter\n"+block+"calls:"+calls)
		case strings.HasPrefix(block, "server:"): // on Kubernetes
		case first == "experiment:":
			file := strings.Fields(block)[1] + ".yaml"
			write(file, block)
			run("rpclab run " + file + " " + ownExperiments[file])
		default:
			t.Errorf("the test does not know what to do with this part of the guide:\n%s", block)
		}
	}
	if commands < 8 {
		t.Errorf("the guide has %d commands, want at least 8", commands)
	}
}
