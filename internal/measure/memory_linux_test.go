package measure

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFreeMemoryOfAControlGroupCountsInactivePageCache(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"v2": {"memory.max": "1000\n", "memory.current": "700\n", "memory.stat": "anon 500\ninactive_file 150\n"},
		"v1": {"memory.limit_in_bytes": "1000\n", "memory.usage_in_bytes": "700\n", "memory.stat": "inactive_file 10\ntotal_inactive_file 150\n"},
	} {
		dir := t.TempDir()
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if left, limited := freeInGroup(dir); left != 450 || !limited {
			t.Errorf("%s: %d bytes, limited %t; want 450", name, left, limited)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "memory.max"), []byte("max\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, limited := freeInGroup(dir); limited {
		t.Error("a group without a limit is limited")
	}
	if FreeMemory() == 0 {
		t.Error("the free memory of this machine is not known")
	}
}
