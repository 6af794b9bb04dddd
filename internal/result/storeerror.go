package result

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

var (
	// ErrStore: the result store cannot be used. The message says why and what to do.
	ErrStore = errors.New("result store")
	// ErrNewer: a later rpclab wrote the store or document.
	ErrNewer = errors.New("written by a newer rpclab")
	// ErrUnreadable: the document is damaged.
	ErrUnreadable = errors.New("the document is damaged")
	// ErrUnknownRun: no run, or more than one, has this ID.
	ErrUnknownRun = errors.New("no such run")
)

const remedy = "set RPCLAB_DATA_DIR to another directory" // commands that have --no-store name it too

// storeError says what failed on which path, why, and what to do.
func storeError(path, doing string, err error) error {
	why, help := explain(err)
	if why == "" {
		return fmt.Errorf("%w %s: cannot %s: %w; %s", ErrStore, path, doing, err, help)
	}
	return fmt.Errorf("%w %s: cannot %s: %s (%w); %s", ErrStore, path, doing, why, err, help)
}

// explain returns the cause in plain words, or "" if the error is plain, and what to do.
func explain(err error) (why, help string) {
	var coded *sqlite.Error
	if errors.As(err, &coded) {
		switch coded.Code() & 0xff { // the low byte is the primary result code
		case lib.SQLITE_FULL:
			return "the disk is full", "free some space, or " + remedy
		case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN:
			return "no permission to write there", remedy
		case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
			return "the file is damaged, or not a result store", "move the file away, or " + remedy
		case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
			return "another process has locked the store", "try again, or " + remedy
		case lib.SQLITE_IOERR:
			return "reading or writing the disk failed", remedy
		}
	}
	switch {
	case errors.Is(err, ErrNewer):
		return "", "update rpclab, or " + remedy
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return "the path of the directory is a file", remedy
	case errors.Is(err, syscall.EISDIR):
		return "the path of the file is a directory", "move the file away, or " + remedy
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "no permission to write there", remedy
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full", "free some space, or " + remedy
	}
	return "", remedy
}

// isFull reports whether SQLite needed more space than the disk has.
func isFull(err error) bool {
	coded, ok := errors.AsType[*sqlite.Error](err)
	return ok && coded.Code()&0xff == lib.SQLITE_FULL
}
