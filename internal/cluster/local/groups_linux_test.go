package local

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGroupsOfVersionTwoHandDownAndLimit is on a directory that looks like a group of version
// 2, which not every machine has.
func TestGroupsOfVersionTwoHandDownAndLimit(t *testing.T) {
	home := t.TempDir()
	for file, text := range map[string]string{"cgroup.controllers": "cpu memory pids", "cgroup.subtree_control": "pids"} {
		if err := os.WriteFile(filepath.Join(home, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, err := homes{cpu: []string{home}}.newGroups()
	if err != nil || g.version != "v2" {
		t.Fatalf("%+v, %v", g, err)
	}
	of, err := g.add("greeter-0", 1.5, 64<<20)
	if err != nil || of.CPU != of.Memory {
		t.Fatalf("%+v, %v", of, err)
	}
	for file, want := range map[string]string{
		filepath.Join(home, "cgroup.subtree_control"): "+cpu +memory", filepath.Join(g.roots[0], "cgroup.subtree_control"): "+cpu +memory",
		filepath.Join(of.CPU, "cpu.max"): "150000 100000", filepath.Join(of.CPU, "memory.max"): "67108864",
	} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v, want %q", file, text, err, want)
		}
	}
}
