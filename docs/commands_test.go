package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/testkit"
	"rpclab/internal/testkit/pages"
)

// readers are the pages that readers of the site see first, besides those of docs.
var readers = []string{"../README.md", "../CONTRIBUTING.md", "../SECURITY.md", "../deploy/README.md", "../servers/CONTRACT.md"}

// commandBlocks calls see with every block of commands.
func commandBlocks(t *testing.T, see func(page, text string, b pages.Block)) {
	t.Helper()
	all := slices.Clone(readers)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range all {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range pages.Blocks(string(text)) {
			if b.Commands() {
				found++
				see(page, string(text), b)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d blocks of commands were found", found)
	}
}

var (
	testedBy = regexp.MustCompile(`^tested by (Test\w+)$`)
	notRun   = regexp.MustCompile(`^not run: .{10}`)
	wholly   = regexp.MustCompile(`(?m)^<!-- (Test\w+) executes every command of this page, except those on Kubernetes. -->$`)
	runs     = regexp.MustCompile(`^(?:go run \./cmd/)?rpclab run `)

	body        = regexp.MustCompile(`(?ms)^func (Test\w+)\(([^\n]*}|.*?^})$`)
	lineComment = regexp.MustCompile(`(?m)(^|\s)//.*`)
)

// planned reports whether TestRunsOfThePagesCanBePlanned plans all commands of a block.
func planned(b pages.Block) bool {
	return !slices.ContainsFunc(b.Lines(), func(line string) bool { return !runs.MatchString(line) })
}

// TestCommandsAreTestedOrThePageSaysWhyNot: a comment above each block of commands names the test that executes it, or says
// why none does. The test asks for the blocks of the page that name it, or goes through all blocks. A block of runs alone
// needs no comment: TestRunsOfThePagesCanBePlanned plans it, and starts nothing.
func TestCommandsAreTestedOrThePageSaysWhyNot(t *testing.T) {
	bodies := map[string]string{} // of tests by name, without comments
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range body.FindAllStringSubmatch(string(text), -1) {
			bodies[found[1]] = lineComment.ReplaceAllString(found[2], "")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	commandBlocks(t, func(page, text string, b pages.Block) {
		name := strings.TrimPrefix(page, "../")
		if name == page {
			name = "docs/" + page
		}
		test, reads := "", []string(nil)
		if all := wholly.FindStringSubmatch(text); all != nil {
			test, reads = all[1], []string{"pages.Blocks("}
		}
		if one := testedBy.FindStringSubmatch(b.Note); one != nil {
			test, reads = one[1], []string{"pages.TestedBy(", b.Note} // a test of another module has the note
		}
		has := func(part string) bool { return strings.Contains(bodies[test], part) }
		switch {
		case test == "" && !notRun.MatchString(b.Note) && !planned(b):
			t.Errorf("%s:%d: no test executes these commands. Above them, write <!-- tested by TestName --> or <!-- not run: the reason -->", name, b.Line)
		case test != "" && !(has(name+`"`) && slices.ContainsFunc(reads, has)):
			t.Errorf("%s:%d: %s does not execute these commands: it lacks the name of this page, or one of %q", name, b.Line, test, reads)
		}
	})
}

// proto defines the service of latency.yaml.
const proto = `syntax = "proto3"; package shop; message Order { int32 id = 1; } service Orders { rpc Get(Order) returns (Order); }`

// latency is the experiment of ci.md for Kubernetes: as kubernetes.md says, with an image and a port in place of its command.
func latency(t *testing.T) string {
	t.Helper()
	text := map[string]string{}
	for _, page := range []string{"ci.md", "kubernetes.md"} {
		read, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text[page] = string(read)
	}
	change := regexp.MustCompile("with `(image: [^`]+)` and `(port: [^`]+)` in\\s+place\\s+of\\s+its\\s+`command`").FindStringSubmatch(text["kubernetes.md"])
	for _, b := range pages.Blocks(text["ci.md"]) {
		if strings.HasPrefix(b.Text, "experiment: latency\n") && change != nil {
			return regexp.MustCompile(`command: \[[^]]*\]`).ReplaceAllLiteralString(b.Text, change[1]+", "+change[2])
		}
	}
	t.Fatal("ci.md has no experiment latency, or kubernetes.md does not say how to run it in pods")
	return ""
}

// TestRunsOfThePagesCanBePlanned executes every `rpclab run` of a page with --plan, which reads all flags, files and settings
// and starts nothing.
func TestRunsOfThePagesCanBePlanned(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"docs", "examples", "test"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	service := "service: shop\nserver: {command: [./shop, \"{{.Address}}\"]}\ncalls:\n  get: {method: shop.Orders/Get}\n  greetings: {method: shop.Orders/Watch}\n"
	inPods := strings.Replace(service, `command: [./shop, "{{.Address}}"]`, "image: registry.example.org/shop:1", 1)
	files := map[string]string{"greeter.yaml": service, "orders.yaml": service, "etcd.yaml": service, "pods/orders.yaml": inPods}
	files["pods/latency.yaml"], files["pods/orders.proto"] = latency(t), proto
	for name, text := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	commandBlocks(t, func(page, _ string, b pages.Block) {
		for _, line := range b.Lines() {
			line = strings.TrimPrefix(line, "go run ./cmd/")
			if !runs.MatchString(line) || seen[line] {
				continue
			}
			seen[line] = true
			t.Run(strings.Join(strings.Fields(line), " "), func(t *testing.T) {
				t.Parallel()
				command := line
				if strings.Contains(line, "--on kubernetes") {
					command = strings.NewReplacer("orders.yaml", "pods/orders.yaml", "latency.yaml", "pods/latency.yaml").Replace(line)
				}
				command = regexp.MustCompile(`--(json|md) \S+`).ReplaceAllString(command, "") // there is no report
				c := exec.CommandContext(t.Context(), "sh", "-c", command+" --plan")
				c.Dir = dir
				c.Env = append(os.Environ(), "PATH="+filepath.Dir(testkit.Rpclab(t))+":"+os.Getenv("PATH"), "RPCLAB_DATA_DIR="+t.TempDir(), "RPCLAB_CONFIG=/dev/null")
				if said, err := c.CombinedOutput(); err != nil {
					t.Errorf("%s:%d: %v\n%s", page, b.Line, err, said)
				}
			})
		}
	})
	if len(seen) < 25 {
		t.Errorf("only %d runs were planned", len(seen))
	}
}
