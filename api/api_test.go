package api

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestGeneratedCodeMatchesTheProtobufFiles makes it again and compares.
func TestGeneratedCodeMatchesTheProtobufFiles(t *testing.T) {
	fresh := t.TempDir()
	if out, err := exec.Command("go", "run", "./generate", fresh).CombinedOutput(); err != nil {
		t.Fatalf("go run ./generate: %v\n%s", err, out)
	}
	if diff := cmp.Diff(generated(t, fresh), generated(t, ".")); diff != "" {
		t.Errorf("the generated code is not that of the .proto files; run: go generate ./api\n%s", diff)
	}
}

// generated are the Go files made from protobuf below dir.
func generated(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".pb.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("there is no generated code below %s", dir)
	}
	return files
}
