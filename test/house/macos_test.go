package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// listed is a package in the output of go list.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
}

// TestTheProgramCompilesOnMacOS checks types, from the sources of all packages. That takes some
// seconds; GOOS=darwin go vet first compiles all packages, which takes minutes.
func TestTheProgramCompilesOnMacOS(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap", "rpclab/cmd/...", "rpclab/internal/...")
	list.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0")
	var said bytes.Buffer
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	set := token.NewFileSet()
	for all := json.NewDecoder(bytes.NewReader(out)); ; { // imported packages come first
		var p listed
		if err := all.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		files, err := p.parse(set)
		if err != nil {
			t.Fatal(err)
		}
		own := strings.HasPrefix(p.ImportPath, "rpclab/")
		config := types.Config{
			IgnoreFuncBodies: !own, FakeImportC: true, Sizes: types.SizesFor("gc", "arm64"),
			Importer: importer(func(path string) (*types.Package, error) {
				if mapped, ok := p.ImportMap[path]; ok {
					path = mapped
				}
				if found, ok := checked[path]; ok {
					return found, nil
				}
				return nil, fmt.Errorf("%s is not listed", path)
			}),
			Error: func(err error) {
				if own {
					t.Error(err)
				}
			},
		}
		checked[p.ImportPath], _ = config.Check(p.ImportPath, set, files, nil) // Error has recorded it
	}
	if checked["rpclab/cmd/rpclab"] == nil {
		t.Error("the program was not checked")
	}
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }

// parse reads the files of a package in parallel.
func (p listed) parse(set *token.FileSet) ([]*ast.File, error) {
	files := make([]*ast.File, len(p.GoFiles))
	var all errgroup.Group
	for i, name := range p.GoFiles {
		all.Go(func() (err error) {
			files[i], err = parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			return err
		})
	}
	return files, all.Wait()
}
