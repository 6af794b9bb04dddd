package main

import (
	"path/filepath"
	"testing"
)

// A negative age would select every run.
func TestCleanTakesAnAgeAsOtherCommandsDo(t *testing.T) {
	none := filepath.Join(t.TempDir(), "kubeconfig") // so that no cluster is found
	for age, want := range map[string]int{"30d": exitLab, "24h": exitLab, "-1h": exitUsage, "old": exitUsage} {
		command := root()
		command.SetArgs([]string{"clean", "--kubeconfig", none, "--older-than=" + age})
		if err := command.Execute(); exitCode(err) != want {
			t.Errorf("--older-than=%s ends with exit code %d (%v), want %d", age, exitCode(err), err, want)
		}
	}
}
