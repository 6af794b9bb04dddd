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

// owned begins the names of directories that a living process holds a lock on.
const owned = "rpclab-run-"

// Dir is a directory of this process's own, for files and sockets of its children. It does
// not outlive its owner for long: one that was killed leaves it to the next, which removes it.
type Dir struct {
	Path string
	// lock is on the directory; the kernel drops it with this process, however it ends
	// (flock(2)). Children do not inherit it.
	lock *os.File
}

var sweep sync.Once

// NewDir makes a directory, and removes those that processes of this user left which were
// killed.
func NewDir() (*Dir, error) {
	sweep.Do(func() { removeLeft(os.TempDir()) })
	path, err := os.MkdirTemp("", "."+owned)
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: path}
	if d.lock, err = lockDir(path); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), os.RemoveAll(path))
	}
	// Only now that it is locked it gets the name by which others look for it.
	named := filepath.Join(filepath.Dir(path), strings.TrimPrefix(filepath.Base(path), "."))
	if err := os.Rename(path, named); err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	d.Path = named
	return d, nil
}

// Remove removes the directory with all that is in it.
func (d *Dir) Remove() error { return errors.Join(os.RemoveAll(d.Path), d.lock.Close()) }

// lockDir fails at once when another process has the lock.
func lockDir(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Turn waits until no other process has its turn at a directory, and takes it, until end.
func Turn(ctx context.Context, path string) (end func(), err error) {
	for {
		lock, err := lockDir(path)
		if err == nil {
			return func() { _ = lock.Close() }, nil // which drops it
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

// removeLeft removes the directories whose owners are gone. Those of other users cannot be
// opened, and stay.
func removeLeft(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, owned+"*")) // the pattern is a good one
	for _, path := range left {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
			continue
		}
		if lock, err := lockDir(path); err == nil {
			_ = (&Dir{path, lock}).Remove() // what stays is for the next to try
		}
	}
}
