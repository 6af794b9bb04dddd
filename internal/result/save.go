package result

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
)

// Begin stores the document without trials, before the first trial. If the run is interrupted,
// its arms keep their order; arms that the document lacks are added with their trials.
func (s *Store) Begin(ctx context.Context, d Document) error {
	header, err := encodeHeader(d)
	if err != nil {
		return err
	}
	if err := s.lock(d.ID); err != nil {
		return err
	}
	err = s.change(ctx, "begin run "+d.ID, func(tx *sql.Tx) error { return insertRun(ctx, tx, d, header) })
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unlock(d.ID)
	}
	return err
}

// AddTrials stores trials of a run after [Store.Begin], each with its arm. Several at once take about as long as one.
func (s *Store) AddTrials(ctx context.Context, run string, arms ...Arm) error {
	rows, err := encodeTrials(run, arms)
	if err != nil {
		return err
	}
	return s.change(ctx, "store trials of run "+run, func(tx *sql.Tx) error { return insertTrials(ctx, tx, run, rows) })
}

// Finish stores the complete document, also for a run that ended early.
func (s *Store) Finish(ctx context.Context, d Document) error {
	document, err := encode(d)
	if err != nil {
		return err
	}
	err = s.change(ctx, "finish run "+d.ID, func(tx *sql.Tx) error { return updateRun(ctx, tx, d, document) })
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlock(d.ID)
	return nil
}

// Save stores a complete document, or nothing of it if it fails.
func (s *Store) Save(ctx context.Context, d Document) error {
	header, err := encodeHeader(d)
	if err != nil {
		return err
	}
	trials, err := encodeTrials(d.ID, d.Arms)
	if err != nil {
		return err
	}
	document, err := encode(d)
	if err != nil {
		return err
	}
	return s.change(ctx, "store run "+d.ID, func(tx *sql.Tx) error {
		if err := insertRun(ctx, tx, d, header); err != nil {
			return err
		}
		if err := insertTrials(ctx, tx, d.ID, trials); err != nil {
			return err
		}
		return updateRun(ctx, tx, d, document)
	})
}

func insertRun(ctx context.Context, tx *sql.Tx, d Document, header string) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO runs (id, started, header) VALUES (?, ?, ?)",
		d.ID, d.Started.UnixMilli(), header); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, summarize+" WHERE id = ?", d.ID)
	return err
}

// trialRow is a trial and its arm, JSON.
type trialRow struct{ arm, trial string }

func insertTrials(ctx context.Context, tx *sql.Tx, run string, rows []trialRow) error {
	for _, r := range rows {
		if _, err := tx.ExecContext(ctx, "INSERT INTO trials (run, arm, trial) VALUES (?, ?, ?)", run, r.arm, r.trial); err != nil {
			return err
		}
	}
	return nil
}

func updateRun(ctx context.Context, tx *sql.Tx, d Document, document string) error {
	done, err := tx.ExecContext(ctx, "UPDATE runs SET document = ?, partial = ?, conditions = ? WHERE id = ?", document, d.Partial, d.Conditions, d.ID)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%w: Begin was not called", ErrUnknownRun)
	}
	if err := saveFigures(ctx, tx, d); err != nil {
		return err
	}
	return saveEarlier(ctx, tx, d)
}

// encodeHeader is the document without trials.
func encodeHeader(d Document) (string, error) {
	if err := CheckID(d.ID); err != nil {
		return "", err
	}
	d.Arms = list(d.Arms)
	for i := range d.Arms {
		d.Arms[i].Trials = nil
	}
	return encode(d)
}

func encodeTrials(run string, arms []Arm) (rows []trialRow, err error) {
	for _, arm := range arms {
		trials := arm.Trials
		arm.Trials = nil
		head, err := json.Marshal(arm.filled())
		if err != nil {
			return nil, fmt.Errorf("store trials of %s in run %s: %w", arm.Name, run, err)
		}
		for _, t := range trials {
			trial, err := json.Marshal(t.filled())
			if err != nil {
				return nil, fmt.Errorf("store trials of %s in run %s: %w", arm.Name, run, err)
			}
			rows = append(rows, trialRow{string(head), string(trial)})
		}
	}
	return rows, nil
}

func encode(d Document) (string, error) {
	var text strings.Builder
	if err := Write(&text, d); err != nil {
		return "", err
	}
	return text.String(), nil
}
