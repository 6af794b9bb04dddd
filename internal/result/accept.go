package result

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrNotFailed: there is nothing to accept.
var ErrNotFailed = errors.New("no assertion or gate failed in the run")

// Accept lets gates compare with a run of which an assertion or gate failed, and returns its ID. A reference is one of
// [Store.Get].
func (s *Store) Accept(ctx context.Context, ref string) (id string, err error) {
	if id, err = s.find(ctx, ref); err != nil {
		return "", err
	}
	var accepted int64
	err = s.change(ctx, "accept run "+id, func(tx *sql.Tx) error {
		// Go would lose fields of a document that a later rpclab wrote.
		done, err := tx.ExecContext(ctx, `UPDATE runs SET conditions = ?1, document = json_set(document, '$.conditions', ?1)
			WHERE id = ?2 AND conditions IN (?1, ?3)`, ConditionsAccepted, id, ConditionsFailed)
		if err != nil {
			return err
		}
		accepted, err = done.RowsAffected()
		return err
	})
	if err == nil && accepted == 0 {
		err = fmt.Errorf("%w %s", ErrNotFailed, id)
	}
	return id, err
}

// Series are the runs that gates compare with each other.
type Series struct {
	Experiment string
	Cluster    string // local or kubernetes
	Quick      bool
}

// gatedRun is a complete run.
type gatedRun struct {
	id     string
	series Series
	failed bool // and nobody accepted it
}

// LastGood returns the ID of the run with which gates compare the next one of a series: the newest that is complete and
// did not fail. It is empty if there is none.
func (s *Store) LastGood(ctx context.Context, of Series) (string, error) {
	all, err := s.gatedRuns(ctx, of.Experiment)
	for _, r := range all {
		if r.series == of && !r.failed {
			return r.id, err
		}
	}
	return "", err
}

// NeededByGates returns the IDs of the runs with which gates compare the next one although newer runs of the same series
// failed. Without such a run the next one would be compared with nothing.
func (s *Store) NeededByGates(ctx context.Context) (map[string]bool, error) {
	all, err := s.gatedRuns(ctx, "")
	failed, ended, needed := map[Series]bool{}, map[Series]bool{}, map[string]bool{}
	for _, r := range all {
		switch {
		case ended[r.series]:
		case r.failed:
			failed[r.series] = true
		default:
			ended[r.series] = true
			if failed[r.series] {
				needed[r.id] = true
			}
		}
	}
	return needed, err
}

// gatedRuns returns the complete runs of an experiment (empty: of all), newest first. The cluster of a run is in its
// summary, or in the header of one that an older rpclab stored.
func (s *Store) gatedRuns(ctx context.Context, experiment string) (all []gatedRun, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT r.id, r.experiment, r.quick, r.conditions IS 'failed',
		coalesce(json_extract(e.summary, '$.cluster'), iif(json_valid(r.header), json_extract(r.header, '$.cluster'), NULL), '')
		FROM runs r LEFT JOIN earlier e ON e.run = r.id
		WHERE r.partial = 0 AND (?1 = '' OR r.experiment = ?1) ORDER BY r.started DESC, r.id DESC`, experiment)
	if err != nil {
		return nil, storeError(s.path, "find the last good run", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r gatedRun
		if err := rows.Scan(&r.id, &r.series.Experiment, &r.series.Quick, &r.failed, &r.series.Cluster); err != nil {
			return nil, storeError(s.path, "find the last good run", err)
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, storeError(s.path, "find the last good run", err)
	}
	return all, nil
}
