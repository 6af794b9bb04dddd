package result

import (
	"context"
	"testing"
	"time"
)

// Version 1 had no column partial, and version 2 nothing that was taken out of headers and
// documents for lists and trends.
const (
	backToTwo = `DROP INDEX runs_listed; DROP TABLE figures; ALTER TABLE runs DROP COLUMN experiment; ALTER TABLE runs DROP COLUMN planned;
		ALTER TABLE runs DROP COLUMN quick; ALTER TABLE runs DROP COLUMN arms; PRAGMA user_version = 2;`
	backToOne = backToTwo + `ALTER TABLE runs DROP COLUMN partial; PRAGMA user_version = 1;`
)

func TestAnOlderStoreIsReadOn(t *testing.T) {
	for name, back := range map[string]string{"version 1": backToOne, "version 2": backToTwo} {
		t.Run(name, func(t *testing.T) { readOn(t, back) })
	}
}

func readOn(t *testing.T, back string) {
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
	_, err = s.db.Exec(back)
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
			if row.Experiment != "channels" || row.Planned != 1 || len(row.Arms) != 1 {
				t.Errorf("the list says %+v", row)
			}
		}
		if len(got) != 3 || got[0] != Interrupted || got[1] != Partial || got[2] != Done {
			t.Errorf("got %v, want interrupted, partial, done", got)
		}
		if d, complete, err := s.Get(ctx, "b-partial"); err != nil || !complete || !d.Partial {
			t.Errorf("partial %v, complete %v, %v", d.Partial, complete, err)
		}
		if points, err := s.Trend(ctx, "channels", "p99"); err != nil || len(points) != 2 || points[0].Run != "a-done" || !points[1].Partial {
			t.Errorf("the trend is %+v, %v; two runs were finished", points, err)
		}
		must(t, s.Close())
	}
}
