package result

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", in pure Go
)

// storeVersion is the version of the tables, stored in SQLite's user_version.
const storeVersion = 5

// storeFile is the name of the store's file.
const storeFile = "runs.db"

// tables store runs, trials as they end, the complete document of a finished run, and the fields
// that lists and trends show.
var tables = `
CREATE TABLE runs (
	id         TEXT PRIMARY KEY,
	started    INTEGER NOT NULL, -- Unix time in ms
	header     TEXT NOT NULL,    -- the document without trials, JSON
	document   TEXT,             -- the whole document; NULL until the run is finished
	partial    INTEGER,          -- of the document; NULL until the run is finished
	experiment TEXT,             -- this and the next columns copy the header
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
` + summaries + upgrade3 + upgrade4

// summaries let lists and trends avoid reading headers and documents of up to megabytes: the index
// covers the list of runs.
var summaries = `
CREATE INDEX runs_listed ON runs (started, id, experiment, planned, quick, partial, arms);
CREATE TABLE figures (
	run  TEXT NOT NULL REFERENCES runs (id),
	seq  INTEGER NOT NULL, -- the arm's place in the document
	arm  TEXT NOT NULL,
	cell TEXT NOT NULL,
	` + strings.Join(Figures(), " REAL,\n\t") + ` REAL,
	PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;`

// upgrade1 upgrades tables from version 1 to 2.
const upgrade1 = `
ALTER TABLE runs ADD COLUMN partial INTEGER;
UPDATE runs SET partial = coalesce(json_extract(document, '$.partial'), 0) WHERE document IS NOT NULL;`

// upgrade3 upgrades tables from version 3 to 4. Runs that are stored already have no summary: plans read their
// documents.
const upgrade3 = `
CREATE TABLE earlier (
	run     TEXT PRIMARY KEY REFERENCES runs (id),
	summary TEXT NOT NULL -- an Earlier, JSON
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 4;`

// upgrade4 upgrades tables from version 4 to 5. Of runs that are stored already it is not known whether a gate failed.
const upgrade4 = `
ALTER TABLE runs ADD COLUMN conditions TEXT;
DROP INDEX runs_listed;
CREATE INDEX runs_listed ON runs (started, id, experiment, planned, quick, partial, conditions, arms);
PRAGMA user_version = 5;`

// upgrade2 upgrades tables from version 2 to 3, except the figures.
var upgrade2 = `
ALTER TABLE runs ADD COLUMN experiment TEXT;
ALTER TABLE runs ADD COLUMN planned INTEGER;
ALTER TABLE runs ADD COLUMN quick INTEGER;
ALTER TABLE runs ADD COLUMN arms TEXT;
` + summarize + `;
` + summaries

// summarize copies the fields that lists show out of the headers.
const summarize = `
UPDATE runs SET experiment = json_extract(header, '$.experiment'), planned = json_extract(header, '$.trials_planned'),
	quick = coalesce(json_extract(header, '$.quick'), 0),
	arms = (SELECT json_group_array(json_extract(value, '$.name')) FROM json_each(header, '$.arms'))`

// Store stores all runs in one SQLite file. A trial is on disk when AddTrials returns. Several
// processes may use a store at the same time.
//
// The file uses SQLite's rollback journal. Unlike write-ahead logging, it works on network file
// systems, and an unused store is one file that can be copied.
type Store struct {
	dir, path string
	db        *sql.DB

	mu    sync.Mutex
	locks map[string]*os.File // of the runs of this process that are in progress
}

// OpenStore opens the store in a directory. It creates both if they do not exist, readable only by
// this user. Errors match [ErrStore], and also [ErrNewer] if a later rpclab wrote the store.
func OpenStore(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, storeError(dir, "find the directory", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, storeError(dir, "create the directory", err)
	}
	path := filepath.Join(dir, storeFile)
	// SQLite would create a file that others can read.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, storeError(path, "open the store", err)
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, storeError(path, "open the store", err)
	}
	pragmas := []string{"busy_timeout(10000)", "foreign_keys(1)", "synchronous(FULL)"}
	if info.Size() == 0 {
		pragmas = append(pragmas, "auto_vacuum(INCREMENTAL)") // before the first table: see [Store.Shrink]
	}
	// Transactions acquire the write lock at once, so they wait for a busy store and do not fail halfway.
	return open(dir, url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}, (*Store).prepare)
}

// OpenStoreToRead is OpenStore for readers: without permission to write, it opens an existing store
// read-only.
func OpenStoreToRead(dir string) (*Store, error) {
	store, err := OpenStore(dir)
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return store, err
	}
	if _, missing := os.Stat(filepath.Join(dir, storeFile)); missing != nil {
		return nil, err
	}
	return openReadOnly(dir)
}

func openReadOnly(dir string) (*Store, error) {
	return open(dir, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)"}}, (*Store).checkVersion)
}

// open opens the file of the store in a directory, with options of SQLite, and checks it.
func open(dir string, options url.Values, check func(*Store, context.Context) error) (*Store, error) {
	s := &Store{dir: dir, path: filepath.Join(dir, storeFile), locks: map[string]*os.File{}}
	source := url.URL{Scheme: "file", Path: filepath.ToSlash(s.path), RawQuery: options.Encode()}
	var err error
	if s.db, err = sql.Open("sqlite", source.String()); err != nil {
		return nil, storeError(s.path, "open the store", err)
	}
	// One connection: writers of one process queue in Go, not in SQLite.
	s.db.SetMaxOpenConns(1)
	if err := check(s, context.Background()); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// prepare creates the tables of a new store and upgrades those of an old one.
func (s *Store) prepare(ctx context.Context) error {
	return s.change(ctx, "open the store", func(tx *sql.Tx) error {
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
			return errors.New("the file is a database of another program")
		}
		return errors.Join(checkNewer(version), upgrade(ctx, tx, version))
	})
}

// upgrade upgrades tables from a version to the present one.
func upgrade(ctx context.Context, tx *sql.Tx, version int) error {
	if version == 1 {
		if _, err := tx.ExecContext(ctx, upgrade1); err != nil {
			return err
		}
	}
	if version <= 2 {
		if err := migrate(ctx, tx); err != nil {
			return err
		}
	}
	if version <= 3 {
		if _, err := tx.ExecContext(ctx, upgrade3); err != nil {
			return err
		}
	}
	if version <= 4 {
		if _, err := tx.ExecContext(ctx, upgrade4); err != nil {
			return err
		}
	}
	return nil
}

// checkVersion fails unless the store has the present version. A reader cannot upgrade it.
func (s *Store) checkVersion(ctx context.Context) error {
	var version int
	err := s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	if err == nil {
		err = checkNewer(version)
	}
	if err == nil && version < storeVersion {
		err = fmt.Errorf("the store has version %d, and rpclab upgrades it to version %d only with permission to write; "+
			"copy %s to a directory of yours", version, storeVersion, storeFile)
	}
	if err != nil {
		return storeError(s.path, "read the store", err)
	}
	return nil
}

func checkNewer(version int) error {
	if version > storeVersion {
		return fmt.Errorf("the store has version %d, and this rpclab reads up to version %d: %w", version, storeVersion, ErrNewer)
	}
	return nil
}

// migrate upgrades a store from version 2 to 3. It stores no figures for a damaged document; reading
// that document returns the error.
func migrate(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, upgrade2); err != nil {
		return err
	}
	var last string
	for {
		var document string
		err := tx.QueryRowContext(ctx, "SELECT id, document FROM runs WHERE id > ? AND document IS NOT NULL ORDER BY id LIMIT 1", last).Scan(&last, &document)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		d, err := decode([]byte(document))
		if err != nil {
			continue
		}
		d.ID = last
		if err := saveFigures(ctx, tx, d); err != nil {
			return err
		}
	}
}

// change runs do in one transaction.
func (s *Store) change(ctx context.Context, doing string, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return storeError(s.path, doing, err)
	}
	if err := do(tx); err != nil {
		tx.Rollback() // report the first error
		return storeError(s.path, doing, err)
	}
	if err := tx.Commit(); err != nil {
		return storeError(s.path, doing, err)
	}
	return nil
}

// Path returns the path of the store's file.
func (s *Store) Path() string { return s.path }

// Close closes the file. Unfinished runs of this process then count as interrupted.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.locks {
		s.unlock(id)
	}
	if err := s.db.Close(); err != nil {
		return storeError(s.path, "close the store", err)
	}
	return nil
}

// A run in progress holds a lock on a file of its own. The system releases the lock however the
// process ends, so a killed run differs from a run in progress. A process ID would not do: another
// process may have received it since.

func (s *Store) lockFile(id string) string { return filepath.Join(s.dir, id+lockSuffix) }

const lockSuffix = ".running"

// lock marks the run as in progress until unlock or the end of this process.
func (s *Store) lock(id string) error {
	file, err := os.OpenFile(s.lockFile(id), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return storeError(s.lockFile(id), "mark the run as in progress", err)
	}
	for range 10 {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(10 * time.Millisecond) // a reader may hold the lock for a moment
	}
	if err != nil {
		return errors.Join(storeError(s.lockFile(id), "mark the run as in progress", err), file.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locks[id] = file
	return nil
}

// unlock releases the lock; the caller holds s.mu. Errors are ignored: the lock only tells readers
// that the run is in progress.
func (s *Store) unlock(id string) {
	if file, ok := s.locks[id]; ok {
		os.Remove(s.lockFile(id))
		file.Close()
		delete(s.locks, id)
	}
}

// inProgress reports whether a process holds the lock of a stored run, and removes the lock file of a
// killed process. A run is locked before it is stored, so a new lock file is never removed.
func (s *Store) inProgress(id string) bool {
	locked := s.locked(id)
	if !locked {
		os.Remove(s.lockFile(id)) // a lock file that stays does no harm
	}
	return locked
}

// locked reports whether a process holds the lock of a run, which need not be stored so far.
func (s *Store) locked(id string) bool {
	s.mu.Lock()
	_, own := s.locks[id]
	s.mu.Unlock()
	if own {
		return true
	}
	file, err := os.Open(s.lockFile(id))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENAMETOOLONG) // the latter was stored by an older version
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}
