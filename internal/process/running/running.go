//go:build unix

// Package running lets the runs of rpclab that share a machine know of each other. Each run locks a file
// of its own. The kernel drops the lock when the process ends (flock(2)), however it ends.
package running

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"rpclab/internal/process"
)

// pollInterval is how often a run that waits looks whether the others have ended.
const pollInterval = 200 * time.Millisecond

// Run is a run that uses the machine.
type Run struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"` // rpclab run channels
	Started time.Time `json:"started"`
}

func (r Run) String() string {
	return fmt.Sprintf("%s (process %d, since %s UTC)", r.Command, r.PID, r.Started.UTC().Format("15:04:05"))
}

// Machine is the directory with a file for each run of this user on this machine.
type Machine struct{ dir string }

// Open opens the directory of this machine below the user's cache directory, which machines may share.
func Open() (Machine, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Machine{}, err
	}
	host, err := os.Hostname()
	if err != nil {
		return Machine{}, err
	}
	m := Machine{filepath.Join(cache, "rpclab", "running", filepath.Base(host))}
	return m, os.MkdirAll(m.dir, 0o700)
}

// Entry is this process's own run on a machine. A nil Entry is a run that is not entered.
type Entry struct {
	machine Machine
	file    *os.File
}

// Enter enters a run with its command. While other runs use the machine it waits, and calls wait with
// them at first and when they change. A nil wait means to enter at once.
func (m Machine) Enter(ctx context.Context, command string, wait func(others []Run)) (*Entry, error) {
	var known []Run
	for {
		entry, others, err := m.tryEnter(ctx, command, wait == nil)
		if err != nil || entry != nil {
			return entry, err
		}
		if !slices.Equal(others, known) {
			known = others
			wait(others)
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryEnter enters a run, unless others use the machine and it may not share. The lock on the directory
// lets one process at a time decide that.
func (m Machine) tryEnter(ctx context.Context, command string, share bool) (entry *Entry, others []Run, err error) {
	unlock, err := process.LockDir(ctx, m.dir)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	if others = m.others("", true); len(others) > 0 && !share {
		return nil, others, nil
	}
	text, err := json.Marshal(Run{PID: os.Getpid(), Command: command, Started: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return nil, nil, err
	}
	file, err := os.CreateTemp(m.dir, "*.json")
	if err != nil {
		return nil, nil, err
	}
	entry = &Entry{m, file}
	_, err = file.Write(text)
	if err = errors.Join(err, unix.Flock(int(file.Fd()), unix.LOCK_EX)); err != nil {
		entry.Leave()
		return nil, nil, err
	}
	return entry, others, nil
}

// others returns the runs of other files, in the order of their start. It may remove the files of
// processes that were killed only while it holds the lock on the directory.
func (m Machine) others(own string, remove bool) (all []Run) {
	paths, _ := filepath.Glob(filepath.Join(m.dir, "*.json")) // the pattern is valid
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil || path == own {
			_ = file.Close() // nil is fine
			continue
		}
		err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		var run Run
		switch {
		case err == nil && remove:
			_ = os.Remove(path)
		case errors.Is(err, unix.EWOULDBLOCK) && json.NewDecoder(file).Decode(&run) == nil:
			all = append(all, run)
		}
		_ = file.Close()
	}
	slices.SortFunc(all, func(a, b Run) int { return a.Started.Compare(b.Started) })
	return all
}

// Others returns the other runs that use the machine now.
func (e *Entry) Others() []Run {
	if e == nil {
		return nil
	}
	return e.machine.others(e.file.Name(), false)
}

// Leave ends the run.
func (e *Entry) Leave() {
	if e != nil {
		_ = os.Remove(e.file.Name())
		_ = e.file.Close()
	}
}
