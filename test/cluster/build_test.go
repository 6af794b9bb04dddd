//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPackagesAreInstalledWithoutServices replaces the programs that install packages, which needs root.
func TestPackagesAreInstalledWithoutServices(t *testing.T) {
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	t.Setenv("PATH", bin) // so programs are missing
	for program, script := range map[string]string{
		"apt-get":   `if [ "$1" = install ]; then /usr/sbin/policy-rc.d containerd start; echo "policy $?, $DEBIAN_FRONTEND: $*"; fi`,
		"systemctl": `echo "$*"`,
	} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n{ "+script+"; } >>'"+log+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := install(t.Context(), t.Logf); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"policy 101, noninteractive: install", " containerd runc"}
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		wanted = append(wanted, "disable --quiet containerd\n")
	}
	for _, want := range wanted {
		if !strings.Contains(string(text), want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

func TestOldBuildsAreRemoved(t *testing.T) {
	cache := t.TempDir()
	for name, days := range map[string]int{"today": 0, "last-week": 7, "last-spring": 200} {
		build := filepath.Join(cache, name)
		used := time.Now().AddDate(0, 0, -days)
		if err := os.MkdirAll(filepath.Join(build, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(build, used, used); err != nil {
			t.Fatal(err)
		}
	}
	if err := dropUnused(cache); err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{"today": true, "last-week": true, "last-spring": false} {
		if _, err := os.Stat(filepath.Join(cache, name)); (err == nil) != stays {
			t.Errorf("%s: stays %v, want %v", name, err == nil, stays)
		}
	}
}
