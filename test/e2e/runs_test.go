package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
)

// fill stores runs that began 0, 1, 2 … days ago, and returns their IDs with the newest first.
func fill(t *testing.T, data string, n int) (ids []string) {
	t.Helper()
	store, err := result.OpenStore(data)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for days := range n {
		d := result.Document{
			Schema: result.Schema, ID: fmt.Sprintf("run-%02d", days), Experiment: "channels", Cluster: "local", Rounds: 1, Baseline: "one",
			Started: time.Now().Add(-time.Duration(days)*24*time.Hour - time.Minute), Definition: strings.Repeat("# a long text\n", 1000),
			Arms: []result.Arm{{Name: "one", Config: map[string]any{"tls": "/home/somebody/key.pem"}}},
		}
		if err := store.Save(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID)
	}
	return ids
}

var runID = regexp.MustCompile(`(?m)^run-\d+`)

// stored returns the IDs of the stored runs, the newest first.
func stored(t *testing.T, data string) []string {
	t.Helper()
	return runID.FindAllString(rpclabIn(t, data, "runs").stdout, -1)
}

func TestRunsAreRemovedByIDAgeAndNumber(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fill(t, data, 9)
	for _, c := range []struct{ args, left string }{
		{"run-03 run-05", "run-00 run-01 run-02 run-04 run-06 run-07 run-08"},
		{"--older-than 6d --dry-run", "run-00 run-01 run-02 run-04 run-06 run-07 run-08"},
		{"--older-than 7d", "run-00 run-01 run-02 run-04 run-06"},
		{"--older-than 1h --keep 4", "run-00 run-01 run-02 run-04"},
		{"--keep 2", "run-00 run-01"},
		{"--keep 2", "run-00 run-01"},
	} {
		s := rpclabIn(t, data, append([]string{"runs", "rm"}, strings.Fields(c.args)...)...)
		if got := strings.Join(stored(t, data), " "); s.code != 0 || got != c.left {
			t.Errorf("rpclab runs rm %s: exit code %d, %s are left, want %s\n%s%s", c.args, s.code, got, c.left, s.stdout, s.stderr)
		}
	}
}

func TestRunsMoveToAnotherStore(t *testing.T) {
	t.Parallel()
	from, to, archive := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "runs.tar.gz")
	ids := fill(t, from, 3)
	for _, step := range []struct {
		data, args, want string
	}{
		{from, "runs export --all -o " + archive, "exported 3 runs to "},
		{to, "runs import " + archive, "imported 3 runs; 0 stored already\n"},
		{to, "runs import " + archive, "imported 0 runs; 3 stored already\n"},
		{to, "report run-01 --json " + archive + ".json", ""},
		{to, "runs rm latest run-01 --dry-run", "run-00\nrun-01\n"},
		{to, "runs rm run-01", "run-01\n"},
		{to, "runs import " + archive + ".json", "imported 1 run; 0 stored already\n"},
	} {
		if s := rpclabIn(t, step.data, strings.Fields(step.args)...); s.code != 0 || !strings.Contains(s.stdout, step.want) {
			t.Fatalf("rpclab %s: exit code %d, want %q\n%s%s", step.args, s.code, step.want, s.stdout, s.stderr)
		}
	}
	if got := stored(t, to); !slices.Equal(got, ids) {
		t.Errorf("the other store has %v, want %v", got, ids)
	}
	if s := rpclabIn(t, to, "report", "run-02", "--json", "-", "--keep-paths"); strings.Contains(s.stdout, "/home/somebody") || !strings.Contains(s.stdout, "key.pem") {
		t.Error("the archive has an absolute path of the first machine")
	}
}

// The other runs are most needed when one is damaged.
func TestAnExportLeavesOutWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	data, to, archive := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "runs.tar.gz")
	fill(t, data, 4)
	db, err := sql.Open("sqlite", filepath.Join(data, "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	set := func(id, document string) {
		t.Helper()
		if _, err := db.Exec("UPDATE runs SET document = ? WHERE id = ?", document, id); err != nil {
			t.Fatal(err)
		}
	}
	set("run-01", `{"schema":`)
	set("run-02", `{"schema":"rpclab.result/v2"}`)
	const remedy = "; `rpclab runs rm run-01` removes it\n"
	for _, wanted := range []string{archive, "-"} {
		s := rpclabIn(t, data, "runs", "export", "--all", "-o", wanted)
		for _, part := range []string{"rpclab: 2 runs are not in the archive:\n- run run-01: ", remedy, "- run run-02: ", "update rpclab\n"} {
			if s.code != 3 || !strings.Contains(s.stderr, part) {
				t.Errorf("-o %s: exit code %d, want 3 and %q\n%s", wanted, s.code, part, s.stderr)
			}
		}
		if wanted == archive && !strings.HasPrefix(s.stdout, "exported 2 runs to ") {
			t.Errorf("it says %q, want that 2 runs were exported", s.stdout)
		}
	}
	if s := rpclabIn(t, to, "runs", "import", archive); s.code != 0 || strings.Join(stored(t, to), " ") != "run-00 run-03" {
		t.Errorf("the other store has %v, want run-00 and run-03\n%s", stored(t, to), s.stderr)
	}
	for _, args := range []string{"report run-01", "runs export run-00 run-01 -o " + archive + ".2"} {
		if s := rpclabIn(t, data, strings.Fields(args)...); s.code != 3 || !strings.HasSuffix(s.stderr, remedy) {
			t.Errorf("%s: exit code %d, want 3 and %q\n%s", args, s.code, remedy, s.stderr)
		}
	}
	set("run-00", `{`)
	set("run-03", `{`)
	if s := rpclabIn(t, data, "runs", "export", "--all", "-o", archive+".2"); s.code != 3 || s.stdout != "" || !strings.Contains(s.stderr, "no run can be exported:\n- run run-00: ") {
		t.Errorf("without a run that can be read: exit code %d, want 3\n%s%s", s.code, s.stdout, s.stderr)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(archive + ".2"); err == nil {
		t.Error("there is an archive without runs, want none")
	}
}

func TestAStoreKeepsToItsLimit(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fill(t, data, 40) // of 30 KB each
	file := filepath.Join(data, "small.yaml")
	if err := os.WriteFile(file, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	s := rpclabIn(t, data, "run", file, "--store-limit", "1Mi")
	if s.code != 0 || !strings.Contains(s.stderr, "rpclab: removed the oldest runs, because of --store-limit 1Mi: run-39") {
		t.Errorf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
	if left := stored(t, data); len(left) < 10 || len(left) > 38 || left[0] != "run-00" {
		t.Errorf("%v are left, want the newest that fit into 1 MiB", left)
	}
	if info, err := os.Stat(filepath.Join(data, "runs.db")); err != nil || info.Size() > 1<<20 {
		t.Errorf("the file has %d bytes (%v), want at most 1 MiB", info.Size(), err)
	}
}

// Without the run that gates compare with, the next run would pass.
func TestTheRunThatGatesCompareWithIsKept(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	store, err := result.OpenStore(data)
	if err != nil {
		t.Fatal(err)
	}
	for days, outcome := range []result.Conditions{"failed", "failed", "passed", "passed"} {
		d := result.Document{Schema: result.Schema, ID: fmt.Sprintf("run-%02d", days), Experiment: "channels", Cluster: "local",
			Started: time.Now().Add(-time.Duration(days)*24*time.Hour - time.Hour), Conditions: outcome}
		if err := store.Save(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	const kept = "rpclab: kept run-02: gates compare with it; 'rpclab runs rm run-02' removes it\n"
	for _, c := range []struct{ args, stdout, stderr, left string }{
		{"--keep 2 --dry-run", "run-03\n", kept, "run-00 run-01 run-02 run-03"},
		{"--older-than 2d", "run-03\n", kept, "run-00 run-01 run-02"},
		{"--keep 1", "run-01\n", kept, "run-00 run-02"},
		{"--keep 1", "nothing to remove\n", kept, "run-00 run-02"},
		{"--keep 2", "nothing to remove\n", "", "run-00 run-02"},
		{"run-02", "run-02\n", "", "run-00"},
	} {
		s := rpclabIn(t, data, append([]string{"runs", "rm"}, strings.Fields(c.args)...)...)
		if got := strings.Join(stored(t, data), " "); s.code != 0 || s.stdout != c.stdout || s.stderr != c.stderr || got != c.left {
			t.Errorf("rpclab runs rm %s: exit code %d, %s are left, want %s\n%s%s", c.args, s.code, got, c.left, s.stdout, s.stderr)
		}
	}
}
