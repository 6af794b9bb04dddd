package result

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Get returns a run by its ID, by the start of its ID, or the newest run for "latest". A run
// whose process was killed or still runs has no final document. Get then returns its header and
// the trials stored so far, not merged and without verdicts; complete is false and Partial true.
func (s *Store) Get(ctx context.Context, ref string) (d Document, complete bool, err error) {
	id, err := s.find(ctx, ref)
	if err != nil {
		return Document{}, false, err
	}
	var header string
	var document sql.NullString
	err = s.db.QueryRowContext(ctx, "SELECT header, document FROM runs WHERE id = ?", id).Scan(&header, &document)
	if err != nil {
		return Document{}, false, storeError(s.path, "read run "+id, err)
	}
	if document.Valid {
		d, err := decode([]byte(document.String))
		if err != nil {
			return Document{}, false, unread(id, err)
		}
		return d, true, nil
	}
	if d, err = decode([]byte(header)); err == nil {
		err = s.readTrials(ctx, &d)
	}
	if err != nil {
		return Document{}, false, unread(id, err)
	}
	d.Partial = true
	return d, false, nil
}

// unread is the error of a stored run that cannot be read.
func unread(id string, err error) error {
	if errors.Is(err, ErrUnreadable) {
		return fmt.Errorf("run %s: %w; `rpclab runs rm %s` removes it", id, err, id)
	}
	return fmt.Errorf("run %s: %w", id, err)
}

// readTrials adds the stored trials to their arms.
func (s *Store) readTrials(ctx context.Context, d *Document) error {
	rows, err := s.db.QueryContext(ctx, "SELECT arm, trial FROM trials WHERE run = ? ORDER BY seq", d.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	index := map[ArmKey]int{}
	for i, arm := range d.Arms {
		index[arm.Key()] = i
	}
	for rows.Next() {
		var armText, trialText string
		if err := rows.Scan(&armText, &trialText); err != nil {
			return err
		}
		var arm Arm
		var trial Trial
		if err := errors.Join(json.Unmarshal([]byte(armText), &arm), json.Unmarshal([]byte(trialText), &trial)); err != nil {
			return fmt.Errorf("a stored trial: %w: %w", ErrUnreadable, err)
		}
		i, known := index[arm.Key()]
		if !known {
			i = len(d.Arms)
			index[arm.Key()] = i
			d.Arms = append(d.Arms, arm.filled())
		}
		d.Arms[i].Trials = append(d.Arms[i].Trials, trial.filled())
	}
	return rows.Err()
}

// find returns the ID of the run that the user means.
func (s *Store) find(ctx context.Context, ref string) (string, error) {
	ids, err := s.ids(ctx)
	if err != nil {
		return "", err
	}
	return s.match(ids, ref)
}

// match returns the ID that the user means, of these with the newest first.
func (s *Store) match(ids []string, ref string) (string, error) {
	if len(ids) == 0 {
		return "", fmt.Errorf("%w %q: the store %s is empty; `rpclab run` adds a run", ErrUnknownRun, ref, s.path)
	}
	if ref == latest {
		return ids[0], nil
	}
	var match []string
	for _, id := range ids {
		if id == ref {
			return id, nil
		}
		if ref != "" && strings.HasPrefix(id, ref) {
			match = append(match, id)
		}
	}
	switch len(match) {
	case 0:
		return "", fmt.Errorf("%w: %q; the newest are %s (`rpclab runs` lists all)", ErrUnknownRun, ref, firstThree(ids))
	case 1:
		return match[0], nil
	}
	return "", fmt.Errorf("%w: %q is the start of %d IDs: %s", ErrUnknownRun, ref, len(match), firstThree(match))
}

// ids returns the IDs of all runs, newest first.
func (s *Store) ids(ctx context.Context) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id FROM runs ORDER BY started DESC, id DESC")
	if err != nil {
		return nil, storeError(s.path, "list the runs", err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, storeError(s.path, "list the runs", err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, storeError(s.path, "list the runs", err)
	}
	return ids, nil
}

func firstThree(ids []string) string {
	if len(ids) > 3 {
		return strings.Join(ids[:3], ", ") + ", …"
	}
	return strings.Join(ids, ", ")
}
