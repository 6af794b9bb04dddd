package result

import (
	"context"
	"testing"
	"time"
)

// Version 1 had no column partial. Version 2 had none of the columns and tables that copy fields
// of headers and documents for lists and trends. Version 3 had no summaries for plans.
// Version 4 did not know whether gates failed.
const (
	downgradeTo4 = `DROP INDEX runs_listed; ALTER TABLE runs DROP COLUMN conditions;
		CREATE INDEX runs_listed ON runs (started, id, experiment, planned, quick, partial, arms); PRAGMA user_version = 4;`
	downgradeTo3 = downgradeTo4 + `DROP TABLE earlier; PRAGMA user_version = 3;`
	downgradeTo2 = downgradeTo3 + `DROP INDEX runs_listed; DROP TABLE figures; ALTER TABLE runs DROP COLUMN experiment; ALTER TABLE runs DROP COLUMN planned;
		ALTER TABLE runs DROP COLUMN quick; ALTER TABLE runs DROP COLUMN arms; PRAGMA user_version = 2;`
	downgradeTo1 = downgradeTo2 + `ALTER TABLE runs DROP COLUMN partial; PRAGMA user_version = 1;`
)

func TestOpenStoreUpgradesOlderVersions(t *testing.T) {
	for name, downgrade := range map[string]string{"version 1": downgradeTo1, "version 2": downgradeTo2, "version 3": downgradeTo3, "version 4": downgradeTo4} {
		t.Run(name, func(t *testing.T) { testUpgrade(t, downgrade) })
	}
}

func testUpgrade(t *testing.T, downgrade string) {
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
	_, err = s.db.Exec(downgrade)
	must(t, err)
	must(t, s.Close())

	for range 2 { // the second time, the store is already upgraded
		s, err := OpenStore(dir)
		must(t, err)
		rows, err := s.List(ctx)
		must(t, err)
		var got []Status
		for _, row := range rows {
			got = append(got, row.Status)
			if row.Experiment != "channels" || row.Planned != 1 || len(row.Arms) != 1 {
				t.Errorf("List returned %+v, want experiment channels with 1 planned trial and 1 arm", row)
			}
		}
		if len(got) != 3 || got[0] != Interrupted || got[1] != Partial || got[2] != Done {
			t.Errorf("statuses are %v, want interrupted, partial, done", got)
		}
		if d, complete, err := s.Get(ctx, "b-partial"); err != nil || !complete || !d.Partial {
			t.Errorf("Get(b-partial): partial %v, complete %v, error %v; want true, true, nil", d.Partial, complete, err)
		}
		if points, err := s.Trend(ctx, TrendRuns{Experiment: "channels", Most: -1}, "p99"); err != nil || len(points) != 2 || points[0].Run != "a-done" || !points[1].Partial {
			t.Errorf("Trend returned %+v, %v; want the two finished runs", points, err)
		}
		must(t, s.Close())
	}
}
