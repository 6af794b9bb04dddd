package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
	"rpclab/internal/testkit/pages"
)

// shortened is what the commands of pages are replaced by, so that they take seconds and pass on a busy machine.
var shortened = strings.NewReplacer(
	"run channels --quick", "run channels --quick --arms shared,pool --rounds 1",
	"p99 < 50ms", "p99 < 20s", "rpclab compare", "rpclab compare --undecided pass", "GATE=", "UNDECIDED=pass GATE=",
	"--rate 500", "--rate 100 --duration 1s", "--rounds 6", "--rounds 4 --arms one,follow", "--search-from 200", "--search-from 100", "--search-to 100000", "--search-to 150 --duration 200ms",
)

// TestCommandsOfThePages executes the blocks of README.md, docs/ci.md, docs/settings.md, docs/method/comparing.md,
// docs/method/open-and-closed.md and docs/method/search.md that name it. A page begins in a directory with the files that
// its reader has.
func TestCommandsOfThePages(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string][]pages.Block{}
	for _, page := range []string{"README.md", "docs/ci.md", "docs/settings.md", "docs/method/comparing.md", "docs/method/open-and-closed.md", "docs/method/search.md"} {
		blocks[page] = pages.TestedBy(t, filepath.Join(root, page))
	}
	example, err := os.ReadFile("../../docs/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, dir := t.TempDir(), t.TempDir()
	before := filepath.Join(dir, "before.json")
	if s := rpclabIn(t, data, "run", "../../docs/example.yaml", "--rounds", "4", "--arms", "one,follow", "--json", before); s.code != 0 {
		t.Fatalf("exit code %d\n%s", s.code, s.stderr)
	}
	measured, err := os.ReadFile(before)
	if err != nil {
		t.Fatal(err)
	}
	id := resulttest.Read(t, strings.NewReader(string(measured))).ID
	archive := filepath.Join(dir, "run.tar.gz")
	if s := rpclabIn(t, data, "runs", "export", id, "-o", archive); s.code != 0 {
		t.Fatalf("exit code %d\n%s", s.code, s.stderr)
	}
	for page, tested := range blocks {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			dir, data := t.TempDir(), data  // each page has its own files
			if page == "docs/settings.md" { // it removes runs
				data = t.TempDir()
				if s := rpclabIn(t, data, "runs", "import", archive); s.code != 0 {
					t.Fatalf("exit code %d\n%s", s.code, s.stderr)
				}
			}
			address, server := greeterAt(t)
			service := rpclabIn(t, t.TempDir(), "init", address)
			if page == "docs/method/open-and-closed.md" { // it starts a server there
				_ = server.Process.Kill()
				_ = server.Wait()
			}
			for name, text := range map[string]string{"before.json": string(measured), "after.json": string(measured), "latency.yaml": string(example), "orders.yaml": service.stdout} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, b := range tested {
				script := shortened.Replace(b.Text)
				script = strings.NewReplacer("127.0.0.1:50051", address, "20261120-184512-x7k2", id, "../rpclab/deploy", filepath.Join(root, "deploy")).Replace(script)
				c := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", script)
				c.Dir = dir
				c.Env = append(os.Environ(), "RPCLAB_DATA_DIR="+data, "PATH="+filepath.Dir(testkit.Rpclab(t))+":"+os.Getenv("PATH"))
				c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				output, err := os.Create(filepath.Join(t.TempDir(), "output")) // a pipe would stay open until a server in the background ends
				if err != nil {
					t.Fatal(err)
				}
				c.Stdout, c.Stderr = output, output
				err = c.Run()
				if killed := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); killed != nil && !errors.Is(killed, syscall.ESRCH) { // servers in the background
					t.Error(killed)
				}
				if said, unread := os.ReadFile(output.Name()); err != nil || unread != nil {
					t.Errorf("%s:%d: %v\n%s\n%s", page, b.Line, errors.Join(err, unread), script, said)
				}
				output.Close()
			}
		})
	}
}
