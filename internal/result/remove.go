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
// If one of them is unknown or in progress, Remove deletes none. It works on a full disk too.
func (s *Store) Remove(ctx context.Context, refs ...string) (removed []string, err error) {
	if removed, err = s.Removable(ctx, refs...); err != nil {
		return nil, err
	}
	remove := func(tx *sql.Tx) error {
		for _, id := range removed {
			for _, statement := range []string{"DELETE FROM trials WHERE run = ?", "DELETE FROM figures WHERE run = ?",
				"DELETE FROM earlier WHERE run = ?", "DELETE FROM runs WHERE id = ?"} {
				if _, err := tx.ExecContext(ctx, statement, id); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err = s.change(ctx, "remove runs", remove)
	if isFull(err) {
		err = s.withoutSpace(ctx, func() error { return s.change(ctx, "remove runs", remove) })
	}
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// Shrink returns the space of removed runs to the file system. It locks the store, so it does nothing while a run is in
// progress, which may have to store a trial.
//
// If little of the file is free, SQLite moves pages from the end of the file into free ones. Otherwise, and once in a
// store that an older rpclab created, it writes a new file, which needs as much free space as the store has left. On a full
// disk it moves pages.
func (s *Store) Shrink(ctx context.Context) error {
	ids, err := s.ids(ctx)
	if err != nil || slices.ContainsFunc(ids, s.inProgress) {
		return err
	}
	var mode, free, pages int
	const read = "SELECT auto_vacuum, freelist_count, page_count FROM pragma_auto_vacuum, pragma_freelist_count, pragma_page_count"
	err = s.db.QueryRowContext(ctx, read).Scan(&mode, &free, &pages)
	switch {
	case err != nil || free == 0:
	case mode == incremental && free < pages/shareToMove:
		err = s.moveFreePages(ctx)
	default:
		_, err = s.db.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
	}
	if isFull(err) && mode == incremental { // in place, which takes longer
		err = s.withoutSpace(ctx, func() error { return s.moveFreePages(ctx) })
	}
	if err != nil {
		return storeError(s.path, "shrink the file", err)
	}
	return nil
}

// withoutSpace does what needs no space on the disk but for SQLite's journal, which it keeps in memory meanwhile. Only a loss
// of power in this moment can damage the store then.
func (s *Store) withoutSpace(ctx context.Context, do func() error) error {
	if _, err := s.db.ExecContext(ctx, "PRAGMA journal_mode = MEMORY"); err != nil {
		return err
	}
	err := do()
	_, back := s.db.ExecContext(context.WithoutCancel(ctx), "PRAGMA journal_mode = DELETE")
	return errors.Join(err, back)
}

// incremental is the value of SQLite's auto_vacuum.
const incremental = 2

// shareToMove is the part of a file, 1 in so many pages, up to which moving pages is faster than a new file: to move a
// page, SQLite searches the list of all free ones.
const shareToMove = 8

// moveFreePages cuts the free pages off. SQLite moves one page for each row of the answer.
func (s *Store) moveFreePages(ctx context.Context) error {
	rows, err := s.db.QueryContext(ctx, "PRAGMA incremental_vacuum")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// Size returns the bytes that the stored runs occupy. The file is larger by the space of runs that were removed.
func (s *Store) Size(ctx context.Context) (bytes uint64, err error) {
	const used = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
	if err := s.db.QueryRowContext(ctx, used).Scan(&bytes); err != nil {
		return 0, storeError(s.path, "read its size", err)
	}
	return bytes, nil
}

// Limit removes the oldest runs until all occupy at most so many bytes, and returns their IDs. It keeps the newest run,
// runs in progress and the runs with which gates compare. The file is as large as before: see [Store.Shrink].
func (s *Store) Limit(ctx context.Context, most uint64) (removed []string, err error) {
	if size, err := s.Size(ctx); err != nil || size <= most {
		return nil, err
	}
	rows, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	needed, err := s.NeededByGates(ctx)
	if err != nil {
		return nil, err
	}
	for i := len(rows) - 1; i > 0; i-- {
		size, err := s.Size(ctx)
		if err != nil || size <= most {
			return removed, err
		}
		id := rows[i].ID
		if needed[id] {
			continue
		}
		_, err = s.Remove(ctx, id)
		switch {
		case errors.Is(err, ErrInProgress), errors.Is(err, ErrUnknownRun): // another process removed it
		case err != nil:
			return removed, err
		default:
			removed = append(removed, id)
		}
	}
	return removed, nil
}
