package result

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, dir string) *Store {
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

func TestAFinishedRunComesBackAsItWas(t *testing.T) {
	s, want, ctx := open(t, t.TempDir()), sampleDocument(t), context.Background()
	must(t, s.Begin(ctx, want))
	must(t, s.AddTrial(ctx, want.ID, want.Arms[0], want.Arms[0].Trials[0]))
	must(t, s.Finish(ctx, want))
	for _, ref := range []string{want.ID, "latest", "20261120"} {
		got, complete, err := s.Get(ctx, ref)
		must(t, err)
		if !complete || got.Partial {
			t.Errorf("%s: complete %v, partial %v", ref, complete, got.Partial)
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

func TestAWholeDocumentIsSavedAtOnce(t *testing.T) {
	s, want, ctx := open(t, t.TempDir()), sampleDocument(t), context.Background()
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
		t.Errorf("the list says %+v", rows)
	}
}

// The process is gone: only what another opening of the file sees is left.
func TestARunThatDiedComesBackAsItsPieces(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	d := sampleDocument(t)
	d.TrialCount = 4
	other := Arm{Name: "pool", Cell: Cell{"load.burst": 1000}, Route: "clusterip", Channel: "pool 16"}
	s, err := OpenStore(dir)
	must(t, err)
	must(t, s.Begin(ctx, d))
	must(t, s.AddTrial(ctx, d.ID, d.Arms[0], sampleTrial(t, 1)))
	must(t, s.AddTrial(ctx, d.ID, other, sampleTrial(t, 2)))
	must(t, s.AddTrial(ctx, d.ID, d.Arms[0], sampleTrial(t, 3)))
	must(t, s.Close())

	got, complete, err := open(t, dir).Get(ctx, d.ID)
	must(t, err)
	if complete || !got.Partial {
		t.Errorf("complete %v, partial %v", complete, got.Partial)
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

func TestListTellsHowRunsEnded(t *testing.T) {
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
	must(t, dead.AddTrial(ctx, "a-dead", Arm{Name: "shared"}, sampleTrial(t, 1)))
	must(t, dead.Close())
	must(t, os.WriteFile(filepath.Join(dir, "a-dead.running"), nil, 0o600)) // as SIGKILL leaves it
	ours, reader := open(t, dir), open(t, dir)
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
	marks, err := filepath.Glob(filepath.Join(dir, "*.running"))
	must(t, err)
	if want := []string{filepath.Join(dir, "d-runs.running")}; !slices.Equal(marks, want) {
		t.Errorf("marks %v, want %v", marks, want)
	}
	if own, err := ours.List(ctx); err != nil || own[0].Status != Running {
		t.Errorf("its own process sees %v, %v", own, err)
	}
}

func TestUnknownRunsNameTheKnownOnes(t *testing.T) {
	s, ctx := open(t, t.TempDir()), context.Background()
	get := func(ref string) string {
		_, _, err := s.Get(ctx, ref)
		if !errors.Is(err, ErrUnknownRun) {
			t.Fatalf("%q: %v", ref, err)
		}
		return err.Error()
	}
	if says := get("latest"); !strings.Contains(says, "holds none yet") {
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
	if says := get("2026"); !strings.Contains(says, "the start of 2 ids") {
		t.Error(says)
	}
	if says := get(""); !strings.Contains(says, "the newest are") {
		t.Error(says)
	}
	if err := s.Finish(ctx, sampleDocument(t)); !errors.Is(err, ErrUnknownRun) {
		t.Errorf("finish without begin: %v", err)
	}
	if err := s.AddTrial(ctx, "none", Arm{}, Trial{}); !errors.Is(err, ErrStore) {
		t.Errorf("trial of no run: %v", err)
	}
}

func TestManyProcessesWriteAtOnce(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	const writers, trials = 4, 10
	errs := make(chan error, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			// Each has its own connection and locks, as another process would.
			s, err := OpenStore(filepath.Join(dir, "new"))
			if err != nil {
				errs <- err
				return
			}
			d := sampleDocument(t)
			d.ID = string(rune('a' + w))
			err = s.Begin(ctx, d)
			for round := range trials {
				err = errors.Join(err, s.AddTrial(ctx, d.ID, d.Arms[0], Trial{Round: round + 1}))
			}
			errs <- errors.Join(err, s.Finish(ctx, d), s.Close())
		})
	}
	all.Wait()
	for range writers {
		must(t, <-errs)
	}
	rows, err := open(t, filepath.Join(dir, "new")).List(ctx)
	must(t, err)
	for _, row := range rows {
		if row.Trials != trials || row.Status != Done {
			t.Errorf("%s: %d trials, %s", row.ID, row.Trials, row.Status)
		}
	}
	if len(rows) != writers {
		t.Errorf("%d runs, want %d", len(rows), writers)
	}
}

func TestTheStoreIsForItsUserAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b%20?c#d", "deep")
	s := open(t, dir)
	must(t, s.Begin(context.Background(), sampleDocument(t)))
	for path, want := range map[string]fs.FileMode{dir: 0o700, s.Path(): 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		if path == s.Path() && info.Size() == 0 {
			t.Errorf("%s is empty: the store is elsewhere", path)
		}
	}
}
