package result

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// ErrInProgress: the run is in progress.
var ErrInProgress = errors.New("the run is in progress")

// Removable returns the IDs of the runs that [Store.Remove] would delete.
func (s *Store) Removable(ctx context.Context, refs ...string) (removable []string, err error) {
	ids, err := s.ids(ctx)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		id, err := s.match(ids, ref)
		if err != nil {
			return nil, err
		}
		if s.inProgress(id) {
			return nil, fmt.Errorf("%w: %s; stop it first", ErrInProgress, id)
		}
		removable = append(removable, id)
	}
	return removable, nil
}

// Remove deletes runs with all that is stored of them, and returns their IDs. A reference is one of [Store.Get].
// If one of them is unknown or in progress, Remove deletes none.
func (s *Store) Remove(ctx context.Context, refs ...string) (removed []string, err error) {
	if removed, err = s.Removable(ctx, refs...); err != nil {
		return nil, err
	}
	err = s.change(ctx, "remove runs", func(tx *sql.Tx) error {
		for _, id := range removed {
			for _, statement := range []string{"DELETE FROM trials WHERE run = ?", "DELETE FROM figures WHERE run = ?",
				"DELETE FROM earlier WHERE run = ?", "DELETE FROM runs WHERE id = ?"} {
				if _, err := tx.ExecContext(ctx, statement, id); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// Shrink returns the space of removed runs to the file system. It needs as much free space as the store has left. It
// locks the store, so it does nothing while a run is in progress, which may have to store a trial.
func (s *Store) Shrink(ctx context.Context) error {
	ids, err := s.ids(ctx)
	if err != nil || slices.ContainsFunc(ids, s.inProgress) {
		return err
	}
	if _, err := s.db.ExecContext(ctx, "VACUUM"); err != nil {
		return storeError(s.path, "shrink the file", err)
	}
	return nil
}

// Size returns the bytes that the stored runs occupy. The file is larger by the space of runs that were removed.
func (s *Store) Size(ctx context.Context) (bytes uint64, err error) {
	const used = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
	if err := s.db.QueryRowContext(ctx, used).Scan(&bytes); err != nil {
		return 0, storeError(s.path, "read its size", err)
	}
	return bytes, nil
}

// Limit removes the oldest runs until all occupy at most so many bytes, and returns their IDs. It keeps the newest
// run and runs in progress.
func (s *Store) Limit(ctx context.Context, most uint64) (removed []string, err error) {
	ids, err := s.ids(ctx)
	if err != nil {
		return nil, err
	}
	for i := len(ids) - 1; i > 0; i-- {
		size, err := s.Size(ctx)
		if err != nil || size <= most {
			return removed, err
		}
		_, err = s.Remove(ctx, ids[i])
		switch {
		case errors.Is(err, ErrInProgress), errors.Is(err, ErrUnknownRun): // another process removed it
		case err != nil:
			return removed, err
		default:
			removed = append(removed, ids[i])
		}
	}
	return removed, nil
}
