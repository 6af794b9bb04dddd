package result

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A run in progress holds a lock on a file of its own, which the system releases
// however the process ends. So a run that was killed is told apart from one that
// is in progress, without a process id that another process may have got since.

func (s *Store) lockFile(id string) string { return filepath.Join(s.dir, id+".running") }

// lock marks the run as going on until unlock or the end of this process.
func (s *Store) lock(id string) error {
	file, err := os.OpenFile(s.lockFile(id), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return storeError(s.lockFile(id), "mark the run as going on", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(storeError(s.lockFile(id), "mark the run as going on", err), file.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive[id] = file
	return nil
}

// unlock ends hold; s.mu is held. The mark is a help for readers only: when it
// cannot be taken away, nothing of the result is lost.
func (s *Store) unlock(id string) {
	if file, ok := s.alive[id]; ok {
		os.Remove(s.lockFile(id))
		file.Close()
		delete(s.alive, id)
	}
}

// inProgress says whether a process still holds the run. The mark of a run whose process
// was killed is taken away. Only runs that are in the store are asked for, and their
// marks are locked before they get there, so no mark that is being made is lost.
func (s *Store) inProgress(id string) bool {
	s.mu.Lock()
	_, ours := s.alive[id]
	s.mu.Unlock()
	if ours {
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
	os.Remove(s.lockFile(id)) // for tidiness: a mark that stays does no harm
	return false
}
