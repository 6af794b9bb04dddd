// Package house checks the rules of this repository.
package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../.."

// rooms are the packages in the order of docs/decisions/0002: a package imports only later ones.
var rooms = []string{
	"web", "telemetry", "lab", "load", "analysis", "experiment", "gateway", "route", "cluster", "agent", "caller", "pace", "wire", "workload", "service", "security",
	"measure", "verdict", "report", "result", "image", "tool", "language", "process", "version", "suggest", "fields",
}

// goFile is a Go file that is not generated.
type goFile struct {
	path string // from the root of the repository
	file *ast.File
}

// goFiles are all Go files, which are read once for all tests.
var goFiles = sync.OnceValues(func() (all []goFile, err error) {
	err = filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		all = append(all, goFile{filepath.ToSlash(name), file})
		return err
	})
	return all, err
})

// set has the positions in all parsed files.
var set = token.NewFileSet()

// files calls see with every Go file that is not generated.
func files(t *testing.T, see func(path string, file *ast.File)) {
	t.Helper()
	all, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d files were found, so the rules were not checked", len(all))
	}
	for _, f := range all {
		see(f.path, f.file)
	}
}

// roomOf returns the package below internal of a path such as internal/route/endpointslice, or of an import
// path.
func roomOf(path string) (room string, ok bool) {
	path = strings.TrimPrefix(path, "rpclab/")
	path, ok = strings.CutPrefix(path, "internal/")
	if !ok {
		return "", false
	}
	room, _, _ = strings.Cut(path, "/")
	return room, room != "testkit"
}

func TestPackagesImportOnlyLaterPackages(t *testing.T) {
	files(t, func(path string, file *ast.File) {
		from, ok := roomOf(path)
		if !ok || strings.HasSuffix(path, "_test.go") {
			return
		}
		if !slices.Contains(rooms, from) {
			t.Errorf("%s is in a package without a place in the order: %s", path, from)
		}
		for _, imported := range file.Imports {
			to, ok := roomOf(strings.Trim(imported.Path.Value, `"`))
			if ok && to != from && slices.Index(rooms, to) < slices.Index(rooms, from) {
				t.Errorf("%s imports %s, which comes before %s in the order", path, to, from)
			}
		}
	})
}

func TestTestsDoNotSleep(t *testing.T) {
	files(t, func(path string, file *ast.File) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		calls(file, func(on, method string, at token.Pos) {
			if on == "time" && method == "Sleep" {
				t.Errorf("%s:%d: a test sleeps; wait for a state instead", path, set.Position(at).Line)
			}
			if strings.HasPrefix(method, "Skip") && on == "t" {
				t.Errorf("%s:%d: a test skips; fail instead, and say how to install a missing tool", path, set.Position(at).Line)
			}
		})
	})
}

func TestCodeDoesNotPanic(t *testing.T) {
	files(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
				t.Errorf("%s:%d: panics; return an error", path, set.Position(call.Pos()).Line)
			}
			return true
		})
		calls(file, func(on, method string, at token.Pos) {
			exits := on == "os" && method == "Exit" || on == "log" && strings.HasPrefix(method, "Fatal")
			if exits && file.Name.Name != "main" && file.Name.Name != "testkit" && !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s:%d: ends the process; only main may", path, set.Position(at).Line)
			}
		})
	})
}

func TestPackagesCheckForGoroutineLeaks(t *testing.T) {
	tested, guarded := map[string]bool{}, map[string]bool{}
	files(t, func(path string, file *ast.File) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		dir := filepath.Dir(path)
		tested[dir] = true
		calls(file, func(on, method string, _ token.Pos) {
			guarded[dir] = guarded[dir] || on == "goleak" || on == "testkit" && method == "Main"
		})
	})
	for dir := range tested {
		if !guarded[dir] {
			t.Errorf("%s: the tests do not check for goroutine leaks; add a TestMain", dir)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	files(t, func(path string, file *ast.File) {
		most := 400 // lines; a table of test cases may be longer
		if filepath.Dir(path) == "internal/route" {
			most = 200 // a route is one file, read in one sitting
		}
		lines := set.File(file.Pos()).LineCount()
		if lines > most && !strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s has %d lines, want at most %d", path, lines, most)
		}
	})
}

func TestExportedNamesHaveComments(t *testing.T) {
	files(t, func(path string, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") || !strings.HasPrefix(path, "internal/") {
			return
		}
		for _, declared := range file.Decls {
			switch d := declared.(type) {
			case *ast.FuncDecl:
				// A method that an interface or its type's comment explains may do without.
				if d.Recv == nil && d.Name.IsExported() && d.Doc == nil {
					t.Errorf("%s:%d: %s has no comment", path, set.Position(d.Pos()).Line, d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if typ, ok := spec.(*ast.TypeSpec); ok && typ.Name.IsExported() && d.Doc == nil && typ.Doc == nil {
						t.Errorf("%s:%d: %s has no comment", path, set.Position(typ.Pos()).Line, typ.Name)
					}
				}
			}
		}
	})
}

// calls calls see for every call of the form on.method(…).
func calls(file *ast.File, see func(on, method string, at token.Pos)) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
			if on, ok := selector.X.(*ast.Ident); ok {
				see(on.Name, selector.Sel.Name, call.Pos())
			}
		}
		return true
	})
}
