package result

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A run in progress holds a lock on a file of its own. The system releases the lock however the
// process ends, so a killed run differs from a run in progress. A process ID would not do: another
// process may have received it since.

func (s *Store) lockFile(id string) string { return filepath.Join(s.dir, id+".running") }

// lock marks the run as in progress until unlock or the end of this process.
func (s *Store) lock(id string) error {
	file, err := os.OpenFile(s.lockFile(id), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return storeError(s.lockFile(id), "mark the run as in progress", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
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

// inProgress reports whether a process holds the lock of the run, and removes the lock file of a
// killed process. A run is locked before it is stored, so a new lock file is never removed.
func (s *Store) inProgress(id string) bool {
	s.mu.Lock()
	_, own := s.locks[id]
	s.mu.Unlock()
	if own {
		return true
	}
	file, err := os.Open(s.lockFile(id))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
		return true
	}
	os.Remove(s.lockFile(id)) // a lock file that stays does no harm
	return false
}
