package image

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
	"time"
)

func TestCompiledModulesAreValidForSourcesWithTheTime0(t *testing.T) {
	dir := t.TempDir()
	old := time.Unix(1e9, 0)
	for _, name := range []string{"fresh", "changed"} {
		source := filepath.Join(dir, name+".py")
		if err := os.WriteFile(source, []byte("answer = 42\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(source, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("python3", "-m", "compileall", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	if err := os.Chtimes(filepath.Join(dir, "changed.py"), time.Time{}, old.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	all := tree{root: "/opt", files: map[string]file{}}
	if err := all.add(dir, "lib", func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	compiled := map[string]bool{}
	for at, f := range all.files {
		if path.Ext(at) != ".pyc" {
			continue
		}
		if err := all.setCompiled(at, f.from); err != nil {
			t.Fatal(err)
		}
		if kept, ok := all.files[at]; ok {
			compiled[path.Base(at)[:5]] = true
			if source := binary.LittleEndian.Uint32([]byte(kept.text)[8:]); source != 0 {
				t.Errorf("%s is valid for a source with the time %d, want 0", at, source)
			}
		}
	}
	if !compiled["fresh"] || compiled["chang"] {
		t.Errorf("compiled modules of %v are in the layer, want that of fresh.py, because changed.py is newer than its own", compiled)
	}
}
