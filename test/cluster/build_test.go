//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

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
