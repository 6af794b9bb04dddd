package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Packages with compiled parts work with one version of Python.
func TestPackagesAreInstalledAgainForAnotherPython(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	for name, script := range map[string]string{
		"go":      "",
		"npm":     "echo node >>" + log,
		"node":    "echo v22.1.0",
		"python3": `if [ "$1" = --version ]; then cat ` + filepath.Join(dir, "version") + "; else echo python >>" + log + "; fi",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var installed []string
	for _, version := range []string{"Python 3.13.5", "Python 3.13.5", "Python 3.14.0"} {
		if err := os.WriteFile(filepath.Join(dir, "version"), []byte(version), 0o644); err != nil {
			t.Fatal(err)
		}
		command := exec.Command("servers/build.sh")
		command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+dir)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		installed = append(installed, strings.Join(strings.Fields(string(text)), " "))
	}
	if want := "node python node python, node python node python, node python node python python python"; strings.Join(installed, ", ") != want {
		t.Errorf("installed in all after each start: %q, want %q", installed, want)
	}
}
