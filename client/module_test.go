package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit/pages"
)

// TestAnotherModuleUsesThePackage executes the commands of docs/your-client.md in a module of its own, and builds the
// example there.
func TestAnotherModuleUsesThePackage(t *testing.T) {
	t.Parallel()
	house, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, b := range pages.TestedBy(t, "../docs/your-client.md") {
		commands = append(commands, b.Lines()...)
	}
	if len(commands) != 2 {
		t.Fatalf("the page has the commands %q, want 2", commands)
	}
	dir := t.TempDir()
	for from, to := range map[string]string{"../examples/go-client/main.go": "main.go", "../go.sum": "go.sum"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(command string) {
		t.Helper()
		c := exec.Command("sh", "-c", command)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOWORK=off")
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, said)
		}
	}
	run("go mod init example.org/shop")
	for _, command := range commands {
		if command == "go mod tidy" { // needs the network, for tests of other modules
			continue
		}
		run(strings.Replace(command, "../rpclab", house, 1))
	}
	run("go build -mod=mod -o client .")
	c := exec.Command(filepath.Join(dir, "client"))
	if said, err := c.CombinedOutput(); err == nil || !strings.Contains(string(said), "rpclab starts this program") {
		t.Errorf("without a job the client says %q (%v), want that rpclab starts it", said, err)
	}
}
