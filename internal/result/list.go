package result

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
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
	Failed      Status = "failed"      // done, but an assertion or gate failed, and nobody has accepted the run
	Partial     Status = "partial"     // ended early, with a complete document
	Interrupted Status = "interrupted" // its process died; its trials are stored
)

// RunFilter selects stored runs.
type RunFilter struct {
	// Words must all occur in the ID, the experiment, the status or the arms of a run, or be quick. Case does not count.
	Words  []string
	Limit  int // negative: all
	Offset int
}

// listRuns reads only the index, no headers or documents. Its parameters are the IDs of the runs in progress as
// JSON, limit and offset, and the words from the fourth on.
const listRuns = `
SELECT r.id, r.started, r.partial IS NOT NULL, coalesce(r.partial, 0), r.conditions IS 'failed', r.quick, r.experiment, r.planned,
	(SELECT count(*) FROM trials t WHERE t.run = r.id), r.arms
FROM runs r WHERE %s ORDER BY r.started DESC, r.id DESC LIMIT ?2 OFFSET ?3`

const countRuns = "SELECT count(*) FROM runs r WHERE %s"

// searchText is the text of a run that a search reads.
const searchText = `lower(r.id || ' ' || r.experiment || ' ' || r.arms || CASE r.quick WHEN 1 THEN ' quick ' ELSE ' ' END ||
	CASE r.partial WHEN 0 THEN iif(r.conditions IS 'failed', 'failed', 'done') WHEN 1 THEN 'partial' ELSE iif(r.id IN (SELECT value FROM json_each(?1)), 'running', 'interrupted') END)`

// List returns all runs, newest first.
func (s *Store) List(ctx context.Context) ([]RunSummary, error) {
	all, _, err := s.Find(ctx, RunFilter{Limit: -1})
	return all, err
}

// Find returns the runs that a filter selects, newest first, and how many there are without its limit and offset. It
// reads which runs are in progress after it has begun to read the store, until when no run can begin or end there.
func (s *Store) Find(ctx context.Context, f RunFilter) (found []RunSummary, total int, err error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, storeError(s.path, "list the runs", err)
	}
	defer tx.Rollback()
	if found, total, err = s.list(ctx, tx, f); err != nil {
		return nil, 0, storeError(s.path, "list the runs", err)
	}
	return found, total, nil
}

func (s *Store) list(ctx context.Context, tx *sql.Tx, f RunFilter) (found []RunSummary, total int, err error) {
	var some bool
	if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM runs)").Scan(&some); err != nil { // begins to read
		return nil, 0, err
	}
	running, err := json.Marshal(s.running())
	if err != nil {
		return nil, 0, err
	}
	where, args := "true", []any{string(running), f.Limit, f.Offset}
	for i, word := range f.Words {
		where += fmt.Sprintf(" AND instr(%s, ?%d) > 0", searchText, i+4)
		args = append(args, strings.ToLower(word))
	}
	if err := tx.QueryRowContext(ctx, fmt.Sprintf(countRuns, where), args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(listRuns, where), args...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := s.row(rows)
		if err != nil {
			return nil, 0, err
		}
		found = append(found, row)
	}
	return found, total, rows.Err()
}

// running returns the IDs of the runs in progress.
func (s *Store) running() []string {
	ids := []string{}
	files, _ := os.ReadDir(s.dir) // what cannot be read has no runs in progress
	for _, file := range files {
		if id, found := strings.CutSuffix(file.Name(), lockSuffix); found && s.locked(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// LastRun is the newest finished run of an experiment.
type LastRun struct {
	Experiment string
	Finished   int // number of finished runs
	ID         string
	Started    time.Time
	Quick      bool
	Status     Status // done, failed or partial
}

// lastRuns takes the columns without an aggregate from the row of the maximum (sqlite.org/lang_select.html, 2.5).
const lastRuns = `SELECT experiment, count(*), id, max(started), quick, partial, conditions IS 'failed' FROM runs
	WHERE partial IS NOT NULL GROUP BY experiment ORDER BY 4 DESC, 1 LIMIT ?`

// LastRuns returns the newest finished run of each experiment, newest first. It reads no documents.
func (s *Store) LastRuns(ctx context.Context, limit int) (all []LastRun, err error) {
	rows, err := s.db.QueryContext(ctx, lastRuns, limit)
	if err != nil {
		return nil, storeError(s.path, "read the last runs", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r LastRun
		var started int64
		var partial, failed bool
		if err := rows.Scan(&r.Experiment, &r.Finished, &r.ID, &started, &r.Quick, &partial, &failed); err != nil {
			return nil, storeError(s.path, "read the last runs", err)
		}
		r.Status = s.status(r.ID, true, partial, failed)
		r.Started = time.UnixMilli(started).UTC()
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, storeError(s.path, "read the last runs", err)
	}
	return all, nil
}

// Before returns the ID of the complete run of the same experiment before a run, quick if that is; empty: there is none.
func (s *Store) Before(ctx context.Context, id string) (before string, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT b.id FROM runs r JOIN runs b ON b.experiment = r.experiment AND b.quick = r.quick
		WHERE r.id = ? AND b.partial = 0 AND (b.started, b.id) < (r.started, r.id) ORDER BY b.started DESC, b.id DESC LIMIT 1`, id).Scan(&before)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", storeError(s.path, "find the run before "+id, err)
	}
	return before, nil
}

func (s *Store) row(rows *sql.Rows) (RunSummary, error) {
	var r RunSummary
	var started int64
	var finished, partial, failed bool
	var list string
	if err := rows.Scan(&r.ID, &started, &finished, &partial, &failed, &r.Quick, &r.Experiment, &r.Planned, &r.Trials, &list); err != nil {
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
	r.Status = s.status(r.ID, finished, partial, failed)
	return r, nil
}

func (s *Store) status(id string, finished, partial, failed bool) Status {
	switch {
	case finished && partial:
		return Partial
	case finished && failed:
		return Failed
	case finished:
		return Done
	case s.inProgress(id):
		return Running
	}
	return Interrupted
}
