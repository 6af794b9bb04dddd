package result

import (
	"context"
	"testing"
	"time"
)

// A store of version 1 had no column partial.
func TestAnOlderStoreIsReadOn(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	s, err := OpenStore(dir)
	must(t, err)
	for i, id := range []string{"a-done", "b-partial", "c-dead"} {
		d := sampleDocument(t)
		d.ID, d.Started, d.Partial = id, start.Add(time.Duration(i)*time.Minute), id == "b-partial"
		must(t, s.Begin(ctx, d))
		if id != "c-dead" {
			must(t, s.Finish(ctx, d))
		}
	}
	_, err = s.db.Exec("ALTER TABLE runs DROP COLUMN partial; PRAGMA user_version = 1")
	must(t, err)
	must(t, s.Close())

	for range 2 { // once brought up to date, it stays so
		s, err := OpenStore(dir)
		must(t, err)
		rows, err := s.List(ctx)
		must(t, err)
		var got []Status
		for _, row := range rows {
			got = append(got, row.Status)
		}
		if len(got) != 3 || got[0] != Interrupted || got[1] != Partial || got[2] != Done {
			t.Errorf("got %v, want interrupted, partial, done", got)
		}
		if d, complete, err := s.Get(ctx, "b-partial"); err != nil || !complete || !d.Partial {
			t.Errorf("partial %v, complete %v, %v", d.Partial, complete, err)
		}
		must(t, s.Close())
	}
}
