package result

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fillStore stores runs that started a minute after each other, the last one first in lists.
func fillStore(t *testing.T, s *Store, n int) (ids []string) {
	t.Helper()
	for i := range n {
		d := sampleDocument(t)
		d.ID, d.Started = fmt.Sprintf("run-%02d", i), start.Add(time.Duration(i)*time.Minute)
		must(t, s.Save(t.Context(), d))
		ids = append(ids, d.ID)
	}
	return ids
}

func stored(t *testing.T, s *Store) (ids []string) {
	t.Helper()
	rows, err := s.List(t.Context())
	must(t, err)
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	slices.Reverse(ids)
	return ids
}

func TestRemoveLeavesNothingOfARun(t *testing.T) {
	s := openStore(t, t.TempDir())
	ids := fillStore(t, s, 3)
	removed, err := s.Remove(t.Context(), "latest", ids[0])
	must(t, err)
	if diff := cmp.Diff([]string{ids[2], ids[0]}, removed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ids[1:2], stored(t, s)); diff != "" {
		t.Error(diff)
	}
	for _, table := range []string{"runs", "trials", "figures", "earlier"} {
		var rows int
		must(t, s.db.QueryRow("SELECT count(*) FROM "+table).Scan(&rows))
		if rows != 1 {
			t.Errorf("the table %s has %d rows, want 1", table, rows)
		}
	}
}

func TestRemoveRemovesAllRunsOrNone(t *testing.T) {
	s := openStore(t, t.TempDir())
	ids := fillStore(t, s, 2)
	running := sampleDocument(t)
	running.ID = "running"
	must(t, s.Begin(t.Context(), running))
	for other, want := range map[string]error{"running": ErrInProgress, "unknown": ErrUnknownRun} {
		if _, err := s.Remove(t.Context(), ids[0], other); !errors.Is(err, want) || !strings.Contains(err.Error(), other) {
			t.Errorf("Remove(%s, %s) returned %v, want %v with its ID", ids[0], other, err, want)
		}
	}
	if got := stored(t, s); len(got) != 3 {
		t.Errorf("%v are stored, want all 3 runs", got)
	}
}

func TestLimitRemovesTheOldestRuns(t *testing.T) {
	s := openStore(t, t.TempDir())
	running := sampleDocument(t)
	running.ID, running.Started = "running", start.Add(-time.Hour)
	must(t, s.Begin(t.Context(), running))
	ids := fillStore(t, s, 20)
	before, err := s.Size(t.Context())
	must(t, err)
	removed, err := s.Limit(t.Context(), before*3/4)
	must(t, err)
	after, err := s.Size(t.Context())
	must(t, err)
	if after > before*3/4 || len(removed) < 2 || len(removed) > 10 {
		t.Errorf("%d runs were removed, and %d of %d bytes are left; want at most %d", len(removed), after, before, before*3/4)
	}
	if diff := cmp.Diff(append([]string{"running"}, ids[len(removed):]...), stored(t, s)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Limit(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"running", ids[19]}, stored(t, s)); diff != "" {
		t.Errorf("a limit that nothing meets: %s", diff)
	}
}

// Without the last good run, the next gate would compare with nothing, and pass. Gates on Kubernetes do not compare with
// runs on this machine.
func TestLimitKeepsTheLastGoodRun(t *testing.T) {
	s := openStore(t, t.TempDir())
	save := func(id, experiment, cluster string, at int, outcome Conditions) {
		d := sampleDocument(t)
		d.ID, d.Experiment, d.Cluster, d.Started, d.Conditions = id, experiment, cluster, start.Add(time.Duration(at)*time.Minute), outcome
		if outcome != "" {
			d.Gates = &Gates{Undecided: "fail"}
		}
		must(t, s.Save(t.Context(), d))
	}
	save("old", "channels", "local", 0, ConditionsPassed)
	save("good", "channels", "local", 1, ConditionsPassed)
	save("pods-good", "churn", "kubernetes", 2, ConditionsPassed)
	save("red", "channels", "local", 3, ConditionsFailed)
	save("other", "churn", "local", 4, "")
	save("pods-red", "churn", "kubernetes", 5, ConditionsFailed)
	save("still-red", "channels", "local", 6, ConditionsFailed)
	save("pods", "channels", "kubernetes", 7, ConditionsPassed)
	save("newest", "churn", "local", 8, ConditionsPassed)
	for want, of := range map[string]series{"good": {"channels", "local", false}, "pods": {"channels", "kubernetes", false},
		"pods-good": {"churn", "kubernetes", false}, "newest": {"churn", "local", false}, "": {"channels", "local", true}} {
		next := sampleDocument(t)
		next.Experiment, next.Cluster, next.Quick = of.experiment, of.cluster, of.quick
		if got, err := s.LastGood(t.Context(), next); got != want || err != nil {
			t.Errorf("the last good run of %+v is %q (%v), want %q", of, got, err, want)
		}
	}
	_, err := s.db.Exec("DELETE FROM earlier WHERE run LIKE 'pods%'") // as of an older rpclab
	must(t, err)
	_, err = s.Limit(t.Context(), 1)
	must(t, err)
	if diff := cmp.Diff([]string{"good", "pods-good", "pods", "newest"}, stored(t, s)); diff != "" {
		t.Error(diff)
	}
}

// TestShrinkMovesPagesOrWritesANewFile covers stores with little and with much to remove, and one that an older rpclab
// created. Another process reads the store before and after.
func TestShrinkMovesPagesOrWritesANewFile(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare string
		remove  int
	}{
		{"little", "", 2}, {"much", "", 30}, {"an older store", "PRAGMA auto_vacuum = NONE; VACUUM", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			ids := fillStore(t, s, 40)
			_, err := s.db.Exec(c.prepare)
			must(t, err)
			reader := openStore(t, s.dir)
			before, size := fileSize(t, reader), onDisk(t, s)
			_, err = s.Remove(t.Context(), ids[:c.remove]...)
			must(t, err)
			must(t, s.Shrink(t.Context()))
			if after, want := onDisk(t, s), size-size*int64(c.remove)/100; after > want {
				t.Errorf("the file has %d bytes, and had %d before %d of 40 runs were removed; want at most %d", after, size, c.remove, want)
			}
			if after := fileSize(t, reader); after >= before || after != onDisk(t, s) {
				t.Errorf("another process sees %d bytes, and saw %d", after, before)
			}
			if diff := cmp.Diff(ids[c.remove:], stored(t, reader)); diff != "" {
				t.Error(diff)
			}
			var mode, free int
			var check string
			must(t, s.db.QueryRow("SELECT auto_vacuum, freelist_count, integrity_check FROM pragma_auto_vacuum, pragma_freelist_count, pragma_integrity_check").Scan(&mode, &free, &check))
			if mode != incremental || free != 0 || check != "ok" {
				t.Errorf("auto_vacuum is %d, %d pages are free, and the check says %s", mode, free, check)
			}
		})
	}
}

func onDisk(t *testing.T, s *Store) int64 {
	t.Helper()
	info, err := os.Stat(s.Path())
	must(t, err)
	return info.Size()
}

func TestShrinkReturnsTheSpaceOfRemovedRuns(t *testing.T) {
	s := openStore(t, t.TempDir())
	ids := fillStore(t, s, 20)
	before := fileSize(t, s)
	_, err := s.Remove(t.Context(), ids[:19]...)
	must(t, err)
	running := sampleDocument(t)
	running.ID = "running"
	must(t, s.Begin(t.Context(), running))
	must(t, s.Shrink(t.Context()))
	if during := fileSize(t, s); during < before {
		t.Errorf("the file shrank from %d to %d bytes while a run was in progress", before, during)
	}
	must(t, s.Finish(t.Context(), running))
	must(t, s.Shrink(t.Context()))
	if after := fileSize(t, s); after > before/2 {
		t.Errorf("the file has %d bytes, and had %d before 19 of 20 runs were removed", after, before)
	}
	if _, complete, err := s.Get(t.Context(), ids[19]); err != nil || !complete {
		t.Errorf("the run that is left: complete %v, error %v", complete, err)
	}
}

func TestAnArchiveHasTheDocumentsAsTheyWere(t *testing.T) {
	write := func() []byte {
		var text bytes.Buffer
		archive := NewArchive(&text)
		for _, id := range []string{"one", "two"} {
			d := sampleDocument(t)
			d.ID = id
			must(t, archive.Add(d))
		}
		must(t, archive.Close())
		return text.Bytes()
	}
	text := write()
	if !bytes.Equal(text, write()) {
		t.Error("two archives of the same documents differ")
	}
	want, err := encode(sampleDocument(t))
	must(t, err)
	var ids []string
	must(t, ReadArchive(bytes.NewReader(text), func(d Document) error {
		ids = append(ids, d.ID)
		d.ID = sampleDocument(t).ID
		got, err := encode(d)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		return nil
	}))
	if diff := cmp.Diff([]string{"one", "two"}, ids); diff != "" {
		t.Error(diff)
	}
	for _, damaged := range []struct {
		text []byte
		want error
	}{{[]byte("{}"), ErrArchive}, {text[:len(text)/2], ErrUnreadable}} {
		if err := ReadArchive(bytes.NewReader(damaged.text), func(Document) error { return nil }); !errors.Is(err, damaged.want) {
			t.Errorf("%d bytes: the error is %v, want %v", len(damaged.text), err, damaged.want)
		}
	}
}

func fileSize(t *testing.T, s *Store) int64 {
	t.Helper()
	var pages, size int64
	must(t, s.db.QueryRowContext(context.Background(), "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size").Scan(&pages, &size))
	return pages * size
}
