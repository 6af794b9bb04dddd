package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"rpclab/internal/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// servers are a deployment without a ready server.
type servers struct{ cluster.Deployment }

func (servers) Endpoints() *cluster.Endpoints { return cluster.NewEndpoints() }

func TestTargetsReplaceOnlyAFileThatRpclabHasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "targets.json")
	if err := CheckTargets(path); err != nil {
		t.Errorf("there is no file: %v", err)
	}
	if err := CheckTargets(filepath.Dir(path)); err == nil {
		t.Error("a directory is accepted")
	}
	for _, text := range []string{
		"", "[]", "not JSON",
		`[{"targets": ["10.0.0.1:9100"], "labels": {"job": "node"}}]`,
		`[{"targets": ["10.0.0.1:9100"], "labels": {"job": "server", "mode": "headless", "team": "a"}}]`,
		`[{"targets": ["10.0.0.1:9100"], "labels": {"job": "server", "mode": "fast"}}]`,
		`[{"targets": [], "labels": {"job": "gateway", "mode": "headless"}}, {"targets": ["10.0.0.1:9100"]}]`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := CheckTargets(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("the file %q: error %v", text, err)
		}
	}
	for _, p := range Plans() { // a lab that was killed leaves its file
		s := &Stack{Plan: p, Address: "127.0.0.1:1", Servers: servers{}}
		if err := writeTargets(path, []*Stack{s}); err != nil {
			t.Fatal(err)
		}
		if err := CheckTargets(path); err != nil {
			t.Errorf("a file with the route %s: %v", p.Route.Name, err)
		}
	}
}
