//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestACgroupInheritsTheCPUsOfItsParent uses ordinary files, because a machine has only one version of control
// groups.
func TestACgroupInheritsTheCPUsOfItsParent(t *testing.T) {
	for _, c := range []struct {
		version    string
		parent     map[string]string
		group      map[string]string // files that the kernel creates in a new group
		in         string            // the file that must be written, and its content
		at, wanted string
	}{
		{"1", map[string]string{"cpuset.cpus": "0-1\n"}, map[string]string{"cpuset.cpus": "\n"}, "group", "cpuset.cpus", "0-1\n"},
		{"1, filled before", map[string]string{"cpuset.cpus": "0-1\n"}, map[string]string{"cpuset.cpus": "1\n"}, "group", "cpuset.cpus", "1\n"},
		{"2", map[string]string{"cgroup.controllers": "cpuset cpu memory\n"}, map[string]string{"cpuset.cpus": "\n"}, ".", "cgroup.subtree_control", "+cpuset +cpu +memory"},
		{"2, an empty cpuset", map[string]string{"cpuset.cpus": "\n"}, map[string]string{"cpuset.cpus": "\n"}, "group", "cpuset.cpus", "\n"},
	} {
		t.Run(c.version, func(t *testing.T) {
			parent := t.TempDir()
			group := filepath.Join(parent, "group")
			if err := os.Mkdir(group, 0o755); err != nil {
				t.Fatal(err)
			}
			for dir, files := range map[string]map[string]string{parent: c.parent, group: c.group} {
				for name, text := range files {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := makeCgroup(parent, group); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(parent, c.in, c.at)); err != nil || string(got) != c.wanted {
				t.Errorf("%s: %q, %v; want %q", c.at, got, err, c.wanted)
			}
		})
	}
}
