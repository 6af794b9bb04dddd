package kube

import (
	"strings"
	"testing"
)

// TestServersAndCallersOfEveryLanguageRunInPods starts with nothing but a cluster: the run builds its image and loads it.
func TestServersAndCallersOfEveryLanguageRunInPods(t *testing.T) {
	t.Parallel()
	g := beginWith(t, "", "testdata/languages.yaml")
	s := g.end(t)
	g.leavesNothing(t)
	if s.code != 0 || !strings.Contains(s.stderr, "Loaded the image rpclab:") {
		t.Fatalf("exit code %d, want 0 and a loaded image:\n%s", s.code, s.stderr)
	}
	for _, arm := range s.document.Arms {
		want := uint64(100)
		if arm.Name == "gateway" {
			want = 10 // requests, of 30 calls each
		}
		if arm.Calls != want || arm.Failed() > 0 {
			t.Errorf("%s: %d calls, %d failed: %v; want %d and none", arm.Name, arm.Calls, arm.Failed(), arm.Samples, want)
		}
		if arm.Resources.Server.CPU <= 0 || arm.Resources.Server.RSS == 0 {
			t.Errorf("%s: the servers' CPU time or memory is not known: %+v", arm.Name, arm.Resources)
		}
		if arm.Name == "gateway" && arm.Balance.Jain < 0.99 {
			t.Errorf("%s: calls by backend are %v, want equal shares", arm.Name, arm.Backends)
		}
	}
}
