package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/cluster/kubernetes"
)

// A negative age would select every run.
func TestCleanTakesAnAgeAsOtherCommandsDo(t *testing.T) {
	none := filepath.Join(t.TempDir(), "kubeconfig") // so that no cluster is found
	for age, valid := range map[string]bool{"30d": true, "24h": true, "-1h": false, "old": false} {
		command := root()
		command.SetArgs([]string{"clean", "--kubeconfig", none, "--older-than=" + age})
		if err := command.Execute(); exitCode(err) != exitUsage || errors.Is(err, kubernetes.ErrKubeconfig) != valid {
			t.Errorf("--older-than=%s ends with exit code %d (%v)", age, exitCode(err), err)
		}
	}
}

func TestCleanNamesRunsThatCountAsAlive(t *testing.T) {
	got := stillAlive([]string{"rpclab-a", "rpclab-b"})
	if !strings.HasPrefix(got, "; the runs of rpclab-a, rpclab-b are in progress") || stillAlive(nil) != "" {
		t.Errorf("got %q", got)
	}
}
