package result

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/testkit"
)

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestGetReturnsAFinishedRun(t *testing.T) {
	s, want, ctx := openStore(t, t.TempDir()), sampleDocument(t), context.Background()
	must(t, s.Begin(ctx, want))
	must(t, s.AddTrials(ctx, want.ID, oneTrial(want.Arms[0], want.Arms[0].Trials[0])))
	must(t, s.Finish(ctx, want))
	for _, ref := range []string{want.ID, "latest", "20261120"} {
		got, complete, err := s.Get(ctx, ref)
		must(t, err)
		if !complete || got.Partial {
			t.Errorf("%s: complete %v, partial %v, want true, false", ref, complete, got.Partial)
		}
		wantText, err := encode(want)
		must(t, err)
		gotText, err := encode(got)
		must(t, err)
		if diff := cmp.Diff(wantText, gotText); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
	}
}

func TestSaveStoresDocumentAndTrials(t *testing.T) {
	s, want, ctx := openStore(t, t.TempDir()), sampleDocument(t), context.Background()
	must(t, s.Save(ctx, want))
	got, complete, err := s.Get(ctx, want.ID)
	must(t, err)
	wantText, err := encode(want)
	must(t, err)
	gotText, err := encode(got)
	must(t, err)
	if diff := cmp.Diff(wantText, gotText); diff != "" || !complete {
		t.Errorf("complete: %v; %s", complete, diff)
	}
	rows, err := s.List(ctx)
	must(t, err)
	trials := 0
	for _, arm := range want.Arms {
		trials += len(arm.Trials)
	}
	if len(rows) != 1 || rows[0].Status != Done || rows[0].Trials != trials || trials == 0 {
		t.Errorf("List returned %+v, want one finished run with %d trials", rows, trials)
	}
}

// TestSaveStoresAllOrNothing fails in the middle of a save: a run without its document would look interrupted, and a
// second import would skip it.
func TestSaveStoresAllOrNothing(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	s, d := openStore(t, dir), sampleDocument(t)
	_, err := s.db.Exec("CREATE TRIGGER full BEFORE INSERT ON trials BEGIN SELECT RAISE(FAIL, 'the disk is full'); END")
	must(t, err)
	if err := s.Save(ctx, d); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("Save returned %v, want that the disk is full", err)
	}
	rows, err := s.List(ctx)
	must(t, err)
	locks, err := filepath.Glob(filepath.Join(dir, "*.running"))
	must(t, err)
	if len(rows)+len(locks) > 0 {
		t.Errorf("a failed Save leaves runs %+v and lock files %v", rows, locks)
	}
	_, err = s.db.Exec("DROP TRIGGER full")
	must(t, err)
	must(t, s.Save(ctx, d))
}

// TestGetReturnsTheTrialsOfAKilledRun closes the store before Finish and opens it again.
func TestGetReturnsTheTrialsOfAKilledRun(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	d := sampleDocument(t)
	d.TrialCount = 4
	other := Arm{Name: "pool", Cell: Cell{"load.burst": 1000}, Route: "clusterip", Channel: "pool 16"}
	s, err := OpenStore(dir)
	must(t, err)
	must(t, s.Begin(ctx, d))
	must(t, s.AddTrials(ctx, d.ID, oneTrial(d.Arms[0], sampleTrial(t, 1))))
	must(t, s.AddTrials(ctx, d.ID, oneTrial(other, sampleTrial(t, 2))))
	must(t, s.AddTrials(ctx, d.ID, oneTrial(d.Arms[0], sampleTrial(t, 3))))
	must(t, s.Close())

	got, complete, err := openStore(t, dir).Get(ctx, d.ID)
	must(t, err)
	if complete || !got.Partial {
		t.Errorf("complete %v, partial %v, want false, true", complete, got.Partial)
	}
	rounds := map[string][]int{}
	for _, arm := range got.Arms {
		for _, trial := range arm.Trials {
			rounds[arm.Name] = append(rounds[arm.Name], trial.Round)
		}
	}
	if diff := cmp.Diff(map[string][]int{"shared": {1, 3}, "pool": {2}}, rounds); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(sampleTrial(t, 2), got.Arms[1].Trials[0]); diff != "" {
		t.Error(diff)
	}
}

func TestListReturnsTheStatusOfEachRun(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	begin := func(s *Store, id string, minute int) Document {
		d := sampleDocument(t)
		d.ID, d.Started, d.TrialCount = id, start.Add(time.Duration(minute)*time.Minute), 2
		d.Arms = append(d.Arms, d.Arms[0])
		must(t, s.Begin(ctx, d))
		return d
	}
	dead, err := OpenStore(dir)
	must(t, err)
	begin(dead, "a-dead", 1)
	must(t, dead.AddTrials(ctx, "a-dead", oneTrial(Arm{Name: "shared"}, sampleTrial(t, 1))))
	must(t, dead.Close())
	must(t, os.WriteFile(filepath.Join(dir, "a-dead.running"), nil, 0o600)) // SIGKILL leaves the lock file
	ours, reader := openStore(t, dir), openStore(t, dir)
	must(t, ours.Finish(ctx, begin(ours, "b-done", 2)))
	stopped := begin(ours, "c-stopped", 3)
	stopped.Partial = true
	must(t, ours.Finish(ctx, stopped))
	begin(ours, "d-runs", 4)

	rows, err := reader.List(ctx)
	must(t, err)
	row := func(id string, minute int, status Status, trials int) RunSummary {
		return RunSummary{id, "channels", start.Add(time.Duration(minute) * time.Minute), status, trials, 2, false, []string{"shared"}}
	}
	want := []RunSummary{row("d-runs", 4, Running, 0), row("c-stopped", 3, Partial, 0), row("b-done", 2, Done, 0), row("a-dead", 1, Interrupted, 1)}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	locks, err := filepath.Glob(filepath.Join(dir, "*.running"))
	must(t, err)
	if want := []string{filepath.Join(dir, "d-runs.running")}; !slices.Equal(locks, want) {
		t.Errorf("lock files %v, want %v", locks, want)
	}
	if own, err := ours.List(ctx); err != nil || own[0].Status != Running {
		t.Errorf("in its own process List returned %v, %v; want the first run running", own, err)
	}
}

// A run that began after a search had read which runs are in progress, and before it read the store, was found as
// interrupted.
func TestARunThatBeginsDuringASearchIsInProgress(t *testing.T) {
	dir, ctx, d := t.TempDir(), context.Background(), sampleDocument(t)
	ours, reader := openStore(t, dir), openStore(t, dir)
	connection, err := reader.db.Conn(ctx) // for which the search waits
	must(t, err)
	type search struct {
		found []RunSummary
		total int
		err   error
	}
	searched := make(chan search, 1)
	go func() {
		found, total, err := reader.Find(ctx, RunFilter{Words: []string{"running"}, Limit: -1})
		searched <- search{found, total, err}
	}()
	testkit.Await(t, "the search waits", func() bool { return reader.db.Stats().WaitCount > 0 })
	must(t, ours.Begin(ctx, d))
	must(t, connection.Close())
	if got := <-searched; got.err != nil || got.total != 1 || len(got.found) != 1 || got.found[0].Status != Running {
		t.Errorf("the runs in progress are %+v, %d in all, %v; want the one that began", got.found, got.total, got.err)
	}
}

// The state of a run is read from its lock, and its end from the store. No run ends between the two.
func TestNoRunEndsWhileAListReads(t *testing.T) {
	dir, ctx, d := t.TempDir(), context.Background(), sampleDocument(t)
	ours, reader := openStore(t, dir), openStore(t, dir)
	must(t, ours.Begin(ctx, d))
	other, err := sql.Open("sqlite", "file:"+filepath.Join(dir, storeFile)+"?_pragma=busy_timeout(0)") // another process that does not wait
	must(t, err)
	defer other.Close()
	reader.mu.Lock() // which every look at a lock needs
	look := sync.OnceFunc(reader.mu.Unlock)
	defer look()
	listed := make(chan []RunSummary, 1)
	go func() {
		rows, _, err := reader.Find(ctx, RunFilter{Limit: -1})
		if err != nil {
			t.Error(err)
		}
		listed <- rows
	}()
	testkit.Await(t, "the list reads, so nobody can store the end of a run", func() bool {
		_, err := other.Exec("UPDATE runs SET partial = NULL")
		return err != nil && strings.Contains(err.Error(), "SQLITE_BUSY")
	})
	look()
	if rows := <-listed; len(rows) != 1 || rows[0].Status != Running {
		t.Errorf("the runs are %+v, want one in progress", rows)
	}
	must(t, ours.Finish(ctx, d))
	if rows, err := reader.List(ctx); err != nil || len(rows) != 1 || rows[0].Status != Done {
		t.Errorf("then the runs are %+v, %v; want one that is done", rows, err)
	}
}

// Another process lists the runs while a run takes its lock, and before the run is stored.
func TestAListLeavesTheLockOfANewRun(t *testing.T) {
	dir, ctx, d := t.TempDir(), context.Background(), sampleDocument(t)
	s, path := openStore(t, dir), filepath.Join(dir, d.ID+".running")
	file, err := os.Create(path)
	must(t, err)
	_, _, err = openStore(t, dir).Find(ctx, RunFilter{Limit: 1})
	must(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a list removes the lock file of a run that is not stored yet: %v", err)
	}
	must(t, syscall.Flock(int(file.Fd()), syscall.LOCK_SH)) // as a reader
	time.AfterFunc(20*time.Millisecond, func() { file.Close() })
	if err := s.Begin(ctx, d); err != nil {
		t.Errorf("a reader of the lock stops a run: %v", err)
	}
}

func TestGetOfAnUnknownRunNamesKnownRuns(t *testing.T) {
	s, ctx := openStore(t, t.TempDir()), context.Background()
	get := func(ref string) string {
		_, _, err := s.Get(ctx, ref)
		if !errors.Is(err, ErrUnknownRun) {
			t.Fatalf("%q: %v", ref, err)
		}
		return err.Error()
	}
	if says := get("latest"); !strings.Contains(says, "is empty") {
		t.Error(says)
	}
	for _, id := range []string{"2026-a", "2026-b"} {
		d := sampleDocument(t)
		d.ID = id
		must(t, s.Begin(ctx, d))
	}
	if says := get("2025"); !strings.Contains(says, "2026-b, 2026-a") {
		t.Error(says)
	}
	if says := get("2026"); !strings.Contains(says, "the start of 2 IDs") {
		t.Error(says)
	}
	if says := get(""); !strings.Contains(says, "the newest are") {
		t.Error(says)
	}
	if err := s.Finish(ctx, sampleDocument(t)); !errors.Is(err, ErrUnknownRun) {
		t.Errorf("Finish without Begin: error %v, want ErrUnknownRun", err)
	}
	if err := s.AddTrials(ctx, "none", oneTrial(Arm{}, Trial{})); !errors.Is(err, ErrStore) {
		t.Errorf("AddTrial without Begin: error %v, want ErrStore", err)
	}
}

func TestSeveralStoresWriteConcurrently(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	const writers, trials = 4, 10
	errs := make(chan error, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			// Each store has its own connection and locks, like another process.
			s, err := OpenStore(filepath.Join(dir, "new"))
			if err != nil {
				errs <- err
				return
			}
			d := sampleDocument(t)
			d.ID = string(rune('a' + w))
			err = s.Begin(ctx, d)
			for round := range trials {
				err = errors.Join(err, s.AddTrials(ctx, d.ID, oneTrial(d.Arms[0], Trial{Round: round + 1})))
			}
			errs <- errors.Join(err, s.Finish(ctx, d), s.Close())
		})
	}
	all.Wait()
	for range writers {
		must(t, <-errs)
	}
	rows, err := openStore(t, filepath.Join(dir, "new")).List(ctx)
	must(t, err)
	for _, row := range rows {
		if row.Trials != trials || row.Status != Done {
			t.Errorf("%s: %d trials, status %s; want %d, done", row.ID, row.Trials, row.Status, trials)
		}
	}
	if len(rows) != writers {
		t.Errorf("%d runs, want %d", len(rows), writers)
	}
}

func TestStoreFilesAreReadableOnlyByTheUser(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b%20?c#d", "deep")
	s := openStore(t, dir)
	must(t, s.Begin(context.Background(), sampleDocument(t)))
	for path, want := range map[string]fs.FileMode{dir: 0o700, s.Path(): 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		if path == s.Path() && info.Size() == 0 {
			t.Errorf("%s is empty: the store wrote another file", path)
		}
	}
}

// An ID is an argument of commands, and the name of files.
func TestOnlyAnIDThatNamesAFileAndARunIsStored(t *testing.T) {
	s := openStore(t, t.TempDir())
	for _, id := range []string{"", "latest", "..", "../x", "-rf", "a b", "a\x1b[31mb", "a\nb", strings.Repeat("x", 101)} {
		if err := s.Save(t.Context(), Document{ID: id}); !errors.Is(err, ErrID) {
			t.Errorf("ID %q: the error is %v, want %v", id, err, ErrID)
		}
	}
	if s.locked(strings.Repeat("x", 5000)) {
		t.Error("a run with an ID that no file can have is in progress for ever")
	}
}
