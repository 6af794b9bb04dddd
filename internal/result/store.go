package result

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite", in pure Go
)

// storeVersion is the form of the tables, kept in SQLite's user_version.
const storeVersion = 3

// tables: a run, its trials as they end, the whole document once it is done, and what
// lists and trends show of it.
var tables = `
CREATE TABLE runs (
	id         TEXT PRIMARY KEY,
	started    INTEGER NOT NULL, -- Unix time in ms
	header     TEXT NOT NULL,    -- the document without trials, JSON
	document   TEXT,             -- the whole document; NULL until the run is finished
	partial    INTEGER,          -- of the document; NULL until the run is finished
	experiment TEXT,             -- this and what follows: of the header
	planned    INTEGER,
	quick      INTEGER,
	arms       TEXT              -- names, JSON, one for each cell
) STRICT;
CREATE TABLE trials (
	seq   INTEGER PRIMARY KEY,
	run   TEXT NOT NULL REFERENCES runs (id),
	arm   TEXT NOT NULL,       -- the arm without trials, JSON
	trial TEXT NOT NULL        -- JSON
) STRICT;
CREATE INDEX trials_run ON trials (run, seq);
` + summaries

// summaries spare lists and trends the headers and documents, which stand in a row of
// runs before what they need and are up to megabytes: the index has all of a list.
var summaries = `
CREATE INDEX runs_listed ON runs (started, id, experiment, planned, quick, partial, arms);
CREATE TABLE figures (
	run  TEXT NOT NULL REFERENCES runs (id),
	seq  INTEGER NOT NULL, -- the arm's place in the document
	arm  TEXT NOT NULL,
	cell TEXT NOT NULL,
	` + strings.Join(Figures(), " REAL,\n\t") + ` REAL,
	PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 3;`

// fromOne makes tables of version 1 those of version 2.
const fromOne = `
ALTER TABLE runs ADD COLUMN partial INTEGER;
UPDATE runs SET partial = coalesce(json_extract(document, '$.partial'), 0) WHERE document IS NOT NULL;`

// fromTwo makes tables of version 2 those of version 3; the figures come after.
var fromTwo = `
ALTER TABLE runs ADD COLUMN experiment TEXT;
ALTER TABLE runs ADD COLUMN planned INTEGER;
ALTER TABLE runs ADD COLUMN quick INTEGER;
ALTER TABLE runs ADD COLUMN arms TEXT;
` + summarize + `;
` + summaries

// summarize takes out of headers what lists show.
const summarize = `
UPDATE runs SET experiment = json_extract(header, '$.experiment'), planned = json_extract(header, '$.trials_planned'),
	quick = coalesce(json_extract(header, '$.quick'), 0),
	arms = (SELECT json_group_array(json_extract(value, '$.name')) FROM json_each(header, '$.arms'))`

// Store keeps every run in one SQLite file. A trial is on the disk when AddTrial
// returns. Several processes may use a store at the same time.
//
// The file uses SQLite's rollback journal: unlike write-ahead logging it also works
// on network file systems, and at rest the store is one file that can be copied.
type Store struct {
	dir, path string
	db        *sql.DB

	mu    sync.Mutex
	alive map[string]*os.File // locks of the runs that this process has begun
}

// OpenStore opens the store in a directory and makes both when they are missing,
// for this user alone. Its errors match [ErrStore], those of a store from a later
// rpclab [ErrNewer] too.
func OpenStore(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, storeError(dir, "find the directory", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, storeError(dir, "make the directory", err)
	}
	s := &Store{dir: dir, path: filepath.Join(dir, "runs.db"), alive: map[string]*os.File{}}
	// SQLite would make the file readable for others.
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, storeError(s.path, "open it", err)
	}
	if err := file.Close(); err != nil {
		return nil, storeError(s.path, "open it", err)
	}
	if s.db, err = sql.Open("sqlite", source(s.path)); err != nil {
		return nil, storeError(s.path, "open it", err)
	}
	// One connection: writers of one process queue in Go, not in SQLite.
	s.db.SetMaxOpenConns(1)
	if err := s.prepare(context.Background()); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// source is the name of the file for the driver. Transactions take the write lock
// at once, so that a busy store makes them wait instead of failing halfway.
func source(path string) string {
	options := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "foreign_keys(1)", "synchronous(FULL)"}}
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: options.Encode()}
	return file.String()
}

// prepare makes the tables of a new store, and of an old one those of this version.
func (s *Store) prepare(ctx context.Context) error {
	return s.change(ctx, "open it", func(tx *sql.Tx) error {
		var version, found int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&found); err != nil {
			return err
		}
		switch {
		case version == 0 && found == 0:
			_, err := tx.ExecContext(ctx, tables)
			return err
		case version == 0:
			return errors.New("it is a database of another program")
		case version == 1:
			if _, err := tx.ExecContext(ctx, fromOne); err != nil {
				return err
			}
			return migrate(ctx, tx)
		case version == 2:
			return migrate(ctx, tx)
		case version > storeVersion:
			return fmt.Errorf("it has version %d and this rpclab reads up to %d: %w", version, storeVersion, ErrNewer)
		}
		return nil
	})
}

// change runs do in one transaction: all of it is stored, or nothing.
func (s *Store) change(ctx context.Context, doing string, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return storeError(s.path, doing, err)
	}
	if err := do(tx); err != nil {
		tx.Rollback() // the first error is the one to tell
		return storeError(s.path, doing, err)
	}
	if err := tx.Commit(); err != nil {
		return storeError(s.path, doing, err)
	}
	return nil
}

// Path is the file of the store.
func (s *Store) Path() string { return s.path }

// Close closes the file. Runs that were begun and not finished count as
// interrupted from then on.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.alive {
		s.unlock(id)
	}
	if err := s.db.Close(); err != nil {
		return storeError(s.path, "close it", err)
	}
	return nil
}
