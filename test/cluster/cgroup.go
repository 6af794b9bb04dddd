//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// hierarchies returns the mount points of control groups: one for each controller in version 1, one for all
// in version 2.
func hierarchies() (dirs []string, err error) {
	raw, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 2 && (f[2] == "cgroup" || f[2] == "cgroup2") && !slices.Contains(dirs, f[1]) {
			dirs = append(dirs, f[1])
		}
	}
	if dirs == nil {
		return nil, errors.New("no control groups are mounted: a kubelet cannot do without")
	}
	return dirs, nil
}

func cgroupOf(name string) string { return "rpclab-" + name }

// makeCgroups creates a group for the cluster, and in it one for each node, in every hierarchy.
func makeCgroups(name string, nodes []node) error {
	dirs, err := hierarchies()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		group := filepath.Join(dir, cgroupOf(name))
		if err := makeCgroup(dir, group); err != nil {
			return err
		}
		for _, n := range nodes {
			if err := makeCgroup(group, filepath.Join(group, n.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeCgroup creates a group that may use the same resources as its parent. In version 1 a new cpuset is empty
// and no process can run in it (cpusets(7)). In version 2 the parent must enable each controller, which may
// be impossible in a container (cgroups(7)).
func makeCgroup(parent, group string) error {
	if raw, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers")); err == nil && len(raw) > 1 {
		hand := "+" + strings.Join(strings.Fields(string(raw)), " +")
		if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte(hand), 0o644); err != nil {
			return fmt.Errorf("enable the controllers of %s for its children: %w; processes in that group prevent it: run the cluster outside of a container", parent, err)
		}
	}
	if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		own, err := os.ReadFile(filepath.Join(group, file))
		if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(own)) != "" {
			continue
		}
		all, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil || strings.TrimSpace(string(all)) == "" { // version 2: empty means the value of the parent
			continue
		}
		if err := os.WriteFile(filepath.Join(group, file), all, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroups removes the cluster's groups. Groups of dead processes stay busy for a while.
func removeCgroups(name string, patience time.Duration) error {
	dirs, err := hierarchies()
	if err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		var left error
		for _, dir := range dirs {
			left = errors.Join(left, removeTree(filepath.Join(dir, cgroupOf(name))))
		}
		if left == nil || time.Now().After(end) {
			return left
		}
	}
}

// removeTree removes directories, the deepest first. The kernel removes the files in them.
func removeTree(group string) error {
	entries, err := os.ReadDir(group)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.IsDir() {
			err = errors.Join(err, removeTree(filepath.Join(group, entry.Name())))
		}
	}
	if err != nil {
		return err
	}
	if err := os.Remove(group); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
