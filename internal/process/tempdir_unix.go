//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ownedPrefix starts the names of directories that a running process has locked.
const ownedPrefix = "rpclab-run-"

// TempDir is a directory of this process for files, and for sockets of its children. If this process is
// killed, the next process that calls [RemoveLeftTempDirs] removes the directory.
type TempDir struct {
	Path string
	// lock is a lock on the directory, which the kernel drops when this process ends (flock(2)).
	// Children do not inherit it.
	lock *os.File
}

// RemoveLeftTempDirs removes the directories that killed processes of this user left in [os.TempDir].
// Only the first call in a process does so.
var RemoveLeftTempDirs = sync.OnceFunc(func() { removeLeft(os.TempDir()) })

// NewTempDir creates a directory in [os.TempDir], after [RemoveLeftTempDirs].
func NewTempDir() (*TempDir, error) {
	RemoveLeftTempDirs()
	return newTempDir("")
}

// NewTempDirIn creates a directory in parent, for example to rename it to its final name there. It
// first removes the directories that killed processes left in parent.
func NewTempDirIn(parent string) (*TempDir, error) {
	removeLeft(parent)
	return newTempDir(parent)
}

func newTempDir(parent string) (*TempDir, error) {
	path, err := os.MkdirTemp(parent, "."+ownedPrefix)
	if err != nil {
		return nil, err
	}
	dir := &TempDir{Path: path}
	if dir.lock, err = tryLockDir(path); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), os.RemoveAll(path))
	}
	// Other processes remove unlocked directories of this name, so the lock comes before the name.
	named := filepath.Join(filepath.Dir(path), strings.TrimPrefix(filepath.Base(path), "."))
	if err := os.Rename(path, named); err != nil {
		return nil, errors.Join(err, dir.Remove())
	}
	dir.Path = named
	return dir, nil
}

// Remove removes the directory with its contents.
func (d *TempDir) Remove() error { return errors.Join(os.RemoveAll(d.Path), d.lock.Close()) }

// tryLockDir fails at once when another process holds the lock.
func tryLockDir(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// LockDir locks a directory. It waits while another process holds the lock.
func LockDir(ctx context.Context, path string) (unlock func(), err error) {
	for {
		lock, err := tryLockDir(path)
		if err == nil {
			return func() { _ = lock.Close() }, nil // drops the lock
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// removeLeft removes the directories whose processes have ended. Directories of other users cannot
// be opened and stay.
func removeLeft(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, ownedPrefix+"*")) // the pattern is valid
	for _, path := range left {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
			continue
		}
		if lock, err := tryLockDir(path); err == nil {
			_ = (&TempDir{path, lock}).Remove() // the next process tries again
		}
	}
}
