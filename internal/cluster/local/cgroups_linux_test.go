package local

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCgroupsV2EnableControllersAndLimits is on a directory that looks like a group of version
// 2, which not every machine has.
func TestCgroupsV2EnableControllersAndLimits(t *testing.T) {
	parent := t.TempDir()
	for file, text := range map[string]string{"cgroup.controllers": "cpu memory pids", "cgroup.subtree_control": "pids"} {
		if err := os.WriteFile(filepath.Join(parent, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, err := cgroupParents{cpu: []string{parent}}.newCgroups()
	if err != nil || g.version != "v2" {
		t.Fatalf("%+v, %v", g, err)
	}
	of, err := g.add("greeter-0", 1.5, 64<<20)
	if err != nil || of.CPU != of.Memory {
		t.Fatalf("%+v, %v", of, err)
	}
	for file, want := range map[string]string{
		filepath.Join(parent, "cgroup.subtree_control"): "+cpu +memory", filepath.Join(g.roots[0], "cgroup.subtree_control"): "+cpu +memory",
		filepath.Join(of.CPU, "cpu.max"): "150000 100000", filepath.Join(of.CPU, "memory.max"): "67108864",
	} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v, want %q", file, text, err, want)
		}
	}
}
