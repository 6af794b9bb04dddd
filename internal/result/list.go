package result

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// RunSummary is one line of the list of runs.
type RunSummary struct {
	ID         string
	Experiment string
	Started    time.Time
	Status     Status
	Trials     int // stored
	Planned    int
	Quick      bool
	Arms       []string // names, each once
}

// Status says whether and how a run ended.
type Status string

// The states of a run.
const (
	Running     Status = "running"     // its process holds the lock
	Done        Status = "done"        // every planned trial ran
	Partial     Status = "partial"     // ended early, with a complete document
	Interrupted Status = "interrupted" // its process died; its trials are stored
)

// listRuns reads only the index, no headers or documents.
const listRuns = `
SELECT r.id, r.started, r.partial IS NOT NULL, coalesce(r.partial, 0), r.quick, r.experiment, r.planned,
	(SELECT count(*) FROM trials t WHERE t.run = r.id), r.arms
FROM runs r ORDER BY r.started DESC, r.id DESC`

// List returns all runs, newest first.
func (s *Store) List(ctx context.Context) ([]RunSummary, error) {
	rows, err := s.db.QueryContext(ctx, listRuns)
	if err != nil {
		return nil, storeError(s.path, "list the runs", err)
	}
	defer rows.Close()
	var all []RunSummary
	for rows.Next() {
		row, err := s.row(rows)
		if err != nil {
			return nil, storeError(s.path, "list the runs", err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		return nil, storeError(s.path, "list the runs", err)
	}
	return all, nil
}

func (s *Store) row(rows *sql.Rows) (RunSummary, error) {
	var r RunSummary
	var started int64
	var finished, partial bool
	var list string
	if err := rows.Scan(&r.ID, &started, &finished, &partial, &r.Quick, &r.Experiment, &r.Planned, &r.Trials, &list); err != nil {
		return RunSummary{}, err
	}
	var arms []string // one for each cell
	if err := json.Unmarshal([]byte(list), &arms); err != nil {
		return RunSummary{}, fmt.Errorf("the arms of run %s: %w", r.ID, err)
	}
	seen := map[string]bool{}
	for _, arm := range arms {
		if !seen[arm] {
			seen[arm] = true
			r.Arms = append(r.Arms, arm)
		}
	}
	r.Started = time.UnixMilli(started).UTC()
	r.Status = s.status(r.ID, finished, partial)
	return r, nil
}

func (s *Store) status(id string, finished, partial bool) Status {
	switch {
	case finished && partial:
		return Partial
	case finished:
		return Done
	case s.inProgress(id):
		return Running
	}
	return Interrupted
}
