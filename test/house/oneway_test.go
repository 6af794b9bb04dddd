package house

import (
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oneWay are the packages whose files refer to each other one way: a file uses what lower
// files declare and nothing of those that use it.
var oneWay = []string{
	"bench/answerer",
	"bench/findings",
	"bench/peers",
	"cmd/rpclab",
	"deploy/dashboards",
	"internal/agent",
	"internal/analysis",
	"internal/caller",
	"internal/caller/external",
	"internal/caller/grpcgo",
	"internal/caller/nethttp",
	"internal/caller/wire",
	"internal/cluster",
	"internal/cluster/kubernetes",
	"internal/cluster/local",
	"internal/cluster/netfault",
	"internal/cluster/publish",
	"internal/experiment",
	"internal/gateway",
	"internal/gateway/stack",
	"internal/image",
	"internal/lab",
	"internal/language",
	"internal/load",
	"internal/load/calculate",
	"internal/service",
	"internal/service/data",
	"internal/service/method",
	"internal/load/summary",
	"internal/measure",
	"internal/pace",
	"internal/pace/search",
	"internal/process",
	"internal/process/stdio",
	"internal/report",
	"internal/report/html",
	"internal/result",
	"internal/result/condition",
	"internal/route",
	"internal/route/component",
	"internal/route/controlplane",
	"internal/route/endpointslice",
	"internal/security",
	"internal/telemetry",
	"internal/telemetry/otlp",
	"internal/telemetry/remotewrite",
	"internal/tool",
	"internal/verdict",
	"internal/web",
	"internal/web/meters",
	"internal/wire",
	"internal/wire/h2",
	"internal/wire/wiretest",
	"internal/workload",
	"test/cluster",
	"test/stages",
	"tools/site",
}

func TestFilesHaveNoCycles(t *testing.T) {
	for _, dir := range oneWay {
		uses := references(t, dir)
		if len(uses) == 0 {
			t.Errorf("%s: no file refers to another file, so the rule was not checked", dir)
		}
		for _, circle := range circles(uses) {
			t.Errorf("%s: these files refer to each other:", dir)
			for _, from := range circle {
				for _, to := range circle {
					if names := uses[from][to]; len(names) > 0 {
						t.Errorf("	%s uses of %s: %s", from, to, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
					}
				}
			}
		}
	}
}

// uses are the names that a file uses from another file: uses[file][other][name].
type uses map[string]map[string]map[string]bool

// references returns the package-level names and methods that files of a package use from each other. It knows
// only unexported methods that are declared in one file and have no name of a field, because others are
// ambiguous without types.
func references(t *testing.T, dir string) uses {
	t.Helper()
	parsed := map[string]*ast.File{}
	files(t, func(path string, file *ast.File) {
		if filepath.ToSlash(filepath.Dir(path)) == dir && !strings.HasSuffix(path, "_test.go") {
			parsed[filepath.Base(path)] = file
		}
	})
	names, methods := declarations(parsed)
	all := uses{}
	add := func(from, name, to string) {
		if to == "" || to == from {
			return
		}
		if all[from] == nil {
			all[from] = map[string]map[string]bool{}
		}
		if all[from][to] == nil {
			all[from][to] = map[string]bool{}
		}
		all[from][to][name] = true
	}
	for file, tree := range parsed {
		for _, name := range tree.Unresolved { // in this file: declared in another, or by Go
			add(file, name.Name, names[name.Name])
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				add(file, s.Sel.Name, methods[s.Sel.Name])
			}
			return true
		})
	}
	return all
}

// declarations are the files in which package-level names, and methods that can be told
// apart, are declared.
func declarations(parsed map[string]*ast.File) (names, methods map[string]string) {
	names, methods = map[string]string{}, map[string]string{}
	ambiguous := map[string]bool{}
	for file, tree := range parsed {
		for name := range tree.Scope.Objects {
			names[name] = file
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					other, known := methods[n.Name.Name]
					ambiguous[n.Name.Name] = ambiguous[n.Name.Name] || n.Name.IsExported() || known && other != file
					methods[n.Name.Name] = file
				}
			case *ast.Field:
				for _, name := range n.Names {
					ambiguous[name.Name] = true // also a method of an interface
				}
			}
			return true
		})
	}
	maps.DeleteFunc(methods, func(name, _ string) bool { return ambiguous[name] })
	return names, methods
}

// circles are the sets of files of which each reaches the others.
func circles(all uses) (found [][]string) {
	reached := map[string]map[string]bool{}
	for from := range all {
		reached[from] = map[string]bool{}
		for left := []string{from}; len(left) > 0; left = left[1:] {
			for to := range all[left[0]] {
				if !reached[from][to] {
					reached[from][to] = true
					left = append(left, to)
				}
			}
		}
	}
	listed := map[string]bool{}
	for _, from := range slices.Sorted(maps.Keys(all)) {
		if !reached[from][from] || listed[from] {
			continue
		}
		circle := []string{}
		for _, to := range slices.Sorted(maps.Keys(reached[from])) {
			if reached[to][from] {
				circle, listed[to] = append(circle, to), true
			}
		}
		found = append(found, circle)
	}
	return found
}

// TestCyclesBetweenFilesAreFound keeps the rule from holding nothing.
func TestCyclesBetweenFilesAreFound(t *testing.T) {
	one := func(name string) map[string]bool { return map[string]bool{name: true} }
	all := uses{"a.go": {"b.go": one("b")}, "b.go": {"c.go": one("c")}, "c.go": {"b.go": one("x"), "d.go": one("d")}}
	if got := fmt.Sprint(circles(all)); got != "[[b.go c.go]]" {
		t.Errorf("found %s, want [[b.go c.go]]", got)
	}
}
