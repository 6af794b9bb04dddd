package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// TestServersAndCallersOfEveryLanguageRunInPods starts with nothing but a cluster: the run builds its image and loads it,
// unless the nodes have it from an earlier run. Calls must be spread as on one machine, in every language. -update writes the
// section of docs/findings/fidelity.md.
func TestServersAndCallersOfEveryLanguageRunInPods(t *testing.T) {
	t.Parallel()
	before := kubectl(t, "get", "nodes", "-o", "jsonpath={.items[*].status.images[*].names}")
	g := beginWith(t, "", "testdata/languages.yaml")
	s := g.end(t)
	g.leavesNothing(t)
	if s.code != 0 {
		t.Fatalf("exit code %d, want 0:\n%s", s.code, s.stderr)
	}
	if !strings.Contains(s.stderr, "Loaded the image rpclab:") {
		name := strings.TrimSpace(ran(t, testkit.Rpclab(t), "image", "build", "--with", "", "--languages", "java,python,rust", "--output", filepath.Join(t.TempDir(), "image.tar")))
		if !strings.Contains(before, "/"+name) {
			t.Errorf("the run loaded no image, and no node had %s before:\n%s", name, s.stderr)
		}
	}
	here := resulttest.Read(t, strings.NewReader(ran(t, testkit.Rpclab(t), "run", "testdata/languages.yaml", "--no-store", "--no-wait", "--json", "-")))
	var rows []string
	for i, arm := range s.document.Arms {
		checkLanguage(t, arm)
		checkLanguage(t, here.Arms[i])
		if a, b := distribution(here.Arms[i]), distribution(arm); a != b {
			t.Errorf("%s: calls are %s on one machine (%v) but %s on Kubernetes (%v)", arm.Name, a, here.Arms[i].Backends, b, arm.Backends)
		}
		if arm.Resources.Server.CPU <= 0 || arm.Resources.Server.RSS == 0 {
			t.Errorf("%s: the servers' CPU time or memory is not known: %+v", arm.Name, arm.Resources)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", arm.Name, distribution(here.Arms[i]), distribution(arm)))
	}
	const path = "../../docs/findings/fidelity.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := languagesTitle + languagesHead + strings.Join(rows, "\n") + "\n"
	before, section, _ := strings.Cut(string(text), languagesTitle)
	if *testkit.Update {
		if err := os.WriteFile(path, []byte(before+want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if languagesTitle+section != want {
		t.Errorf("the section of %s on languages is\n%s\nwant\n%s\nto rewrite it: go test ./test/kube -run EveryLanguage -update", path, languagesTitle+section, want)
	}
}

const languagesTitle = "## Language by language\n"

const languagesHead = `
The calls of one caller to three backends, in test/kube/testdata/languages.yaml. An arm has the name of the language of
its servers, whose caller is in Go, or of its caller, whose servers are in Go. The gateway is in Python and calls servers
in Python.

<!-- not run: it writes this page, and the same test without -update compares it -->
    go run ./test/cluster with -- go test ./test/kube -run EveryLanguage -update

| arm | on one machine | on Kubernetes |
|---|---|---|
`

// checkLanguage checks that every call of an arm was answered.
func checkLanguage(t *testing.T, arm result.Arm) {
	t.Helper()
	want := uint64(99)
	if arm.Name == "gateway" {
		want = 10 // requests, of 30 calls each
	}
	if arm.Calls != want || arm.Failed() > 0 {
		t.Errorf("%s: %d calls, %d failed: %v %s; want %d and none", arm.Name, arm.Calls, arm.Failed(), arm.Samples, arm.Trials[0].Failed, want)
	}
}
