//go:build unix

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// stage is one command of make test.
type stage struct {
	name  string
	needs []string // stages that must succeed before
	after []string // stages that must end before, whatever their result
	args  []string
}

// lane is a list of stages that run one after another, at a priority (nice(1)).
type lane struct {
	nice   string // "" is the priority of make test itself
	live   bool   // its output is shown at once, that of other lanes when a stage has ended
	stages []stage
}

// apart are the packages whose tests need more than Go and the proxies. Each has a stage of its own.
var apart = []string{"tools/site", "test/e2e", "test/conformance", "test/dashboards", "test/browser", "test/security", "test/kube", "test/cluster", "web/bundle"}

// plan lists the stages. The first lane installs and builds. The second builds Kubernetes before the first tests: beside
// them, at a lower priority, it would take an hour. The third and the fourth have the tests. Those of whole commands that compare times run alone and
// first, of which those that mostly wait run together; the others share the machine. The fourth lane mostly waits: for
// pods, a browser and other programs.
func plan(program string) ([]lane, error) {
	raced, plain, err := packages()
	if err != nil {
		return nil, err
	}
	timed, err := alone("test/e2e")
	if err != nil {
		return nil, err
	}
	test := func(name, packages string, needs []string, flags ...string) stage {
		return stage{name: name, needs: append(needs, "build rpclab"), args: append([]string{"test/run.sh", packages}, flags...)}
	}
	race := test("race", strings.Join(raced, " "), []string{"proxies"}, "-race", "-timeout", "20m", "-parallel", "4")
	race.args = append([]string{"env", "CGO_ENABLED=1"}, race.args...) // which the race detector needs
	built := []string{"build rpclab"}
	whole := []string{"proxies", "servers in Python", "servers in Java", "servers in Rust"}
	first := test("e2e alone", "./test/e2e", whole, "-timeout", "10m", "-parallel", "3", "-run", timed)
	first.after = []string{"build Kubernetes"}
	servers := func(title, language string) stage {
		return stage{name: title, needs: built, args: []string{program, "servers", "build", language}}
	}
	return []lane{
		{nice: "10", stages: []stage{
			{name: "Debian packages", args: []string{"test/tools.sh"}},
			{name: "proxies", needs: []string{"Debian packages", "build rpclab"}, args: []string{program, "doctor", "--install"}},
			servers("servers in Python", "python"),
			servers("servers in Java", "java"),
			servers("servers in Rust", "rust"),
			{name: "servers of others", args: []string{"test/conformance/servers/build.sh"}},
			{name: "collector", args: []string{"test/dashboards/build.sh"}},
			// It compiles packages as a release does, which other stages do not need.
			{name: "release", needs: []string{"build rpclab", "Debian packages"}, after: []string{"e2e alone"}, args: []string{"go", "-C", "tools/release", "test", "-count=1", "-timeout", "30m", "."}},
			{name: "lint", needs: built, after: []string{"e2e alone"}, args: []string{"make", "--no-print-directory", "lint"}},
		}},
		{nice: "10", stages: []stage{
			{name: "build Kubernetes", needs: []string{"Debian packages"}, args: []string{"go", "run", "./test/cluster", "build"}},
		}},
		{live: true, stages: []stage{
			{name: "build rpclab", args: []string{"go", "build", "-o", program, "./cmd/rpclab"}},
			first,
			test("e2e", "./test/e2e", whole, "-timeout", "40m", "-parallel", "4", "-skip", timed),
			race,
			// These make ten times as many calls or checks without the race detector.
			test("plain", strings.Join(append(plain, "rpclab/internal/caller/calculator", "rpclab/internal/measure"), " "), nil, "-timeout", "10m"),
			test("site", "./tools/site", []string{"Debian packages"}, "-timeout", "10m"),
			test("security", "./test/security", nil, "-timeout", "10m"),
		}},
		{stages: []stage{
			{name: "Kubernetes", needs: []string{"build Kubernetes", "proxies"}, after: []string{"e2e alone"},
				args: []string{"go", "run", "./test/cluster", "with", "--name", "test", "--", "test/run.sh", "./test/kube/...", "-timeout", "40m", "-parallel", "4", "-skip", "Istio|Soak"}},
			test("cluster", "./test/cluster", []string{"build Kubernetes"}, "-timeout", "15m"),
			test("dashboards", "./test/dashboards", []string{"proxies", "collector"}, "-timeout", "5m"),
			test("browser", "./web/bundle ./test/browser", []string{"Debian packages"}, "-timeout", "10m"),
			test("conformance", "./test/conformance", append(whole, "servers of others"), "-timeout", "15m", "-parallel", "4"),
		}},
	}, nil
}

// alone returns a pattern (go test -run) of the tests of a directory that do not run in parallel.
func alone(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return "", err
	}
	var names []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && !parallel(f) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return "^(" + strings.Join(names, "|") + ")$", nil
}

// parallel reports whether a test calls t.Parallel itself.
func parallel(test *ast.FuncDecl) bool {
	return slices.ContainsFunc(test.Body.List, func(s ast.Stmt) bool {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := e.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		return ok && f.Sel.Name == "Parallel"
	})
}

// simulated are packages whose tests simulate thousands of runs in one goroutine, and whose concurrency is a map of the
// package sync. The tests of packages that import them check it with the race detector.
var simulated = []string{"internal/verdict"}

// packages returns the packages of the stages race and plain. The race detector makes tests several times
// slower, so it runs only on packages with concurrency.
func packages() (raced, plain []string, err error) {
	out, err := exec.Command("go", "list", "-f", `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}} {{join .GoFiles " "}}{{end}}`, "./...").Output()
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || slices.Contains(apart, strings.TrimPrefix(fields[0], "rpclab/")) {
			continue
		}
		if slices.Contains(simulated, strings.TrimPrefix(fields[0], "rpclab/")) {
			plain = append(plain, fields[0])
			continue
		}
		meets := false
		for _, name := range fields[2:] {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(fields[1], name), nil, 0)
			if err != nil {
				return nil, nil, err
			}
			meets = meets || concurrent(file)
		}
		if meets {
			raced = append(raced, fields[0])
		} else {
			plain = append(plain, fields[0])
		}
	}
	return raced, plain, nil
}

// concurrent reports whether a file starts goroutines, imports sync, or serves calls.
func concurrent(file *ast.File) (yes bool) {
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value) // it was parsed
		yes = yes || slices.Contains([]string{"sync", "sync/atomic", "net/http", "google.golang.org/grpc", "golang.org/x/sync/errgroup"}, path)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		_, starts := n.(*ast.GoStmt)
		yes = yes || starts
		return !yes
	})
	return yes
}
