package local

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCgroupsV2EnableControllersAndLimits uses a directory with the files of cgroup v2, which not
// every machine has.
func TestCgroupsV2EnableControllersAndLimits(t *testing.T) {
	parent := t.TempDir()
	for file, text := range map[string]string{"cgroup.controllers": "cpu memory pids", "cgroup.subtree_control": "pids"} {
		if err := os.WriteFile(filepath.Join(parent, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, err := cgroupParents{cpu: []string{parent}}.newCgroups()
	if err != nil || g.version != "v2" {
		t.Fatalf("newCgroups returned %+v and error %v, want version v2", g, err)
	}
	group, err := g.add("greeter-0", 1.5, 64<<20)
	if err != nil || group.CPU != group.Memory {
		t.Fatalf("add returned %+v and error %v, want one group for CPU and memory", group, err)
	}
	for file, want := range map[string]string{
		filepath.Join(parent, "cgroup.subtree_control"): "+cpu +memory", filepath.Join(g.roots[0], "cgroup.subtree_control"): "+cpu +memory",
		filepath.Join(group.CPU, "cpu.max"): "150000 100000", filepath.Join(group.CPU, "memory.max"): "67108864",
	} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s has %q (error %v), want %q", file, text, err, want)
		}
	}
}
