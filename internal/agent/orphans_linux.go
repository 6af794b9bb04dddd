package agent

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"rpclab/internal/process"
)

// reaper reads the exit status of orphaned processes, as process 1 of a container must, so that they do not
// remain as zombies.
type reaper struct {
	mu  sync.Mutex
	own map[int]bool // process IDs of programs, for which exec.Cmd waits
}

// adopt makes this process the parent of its orphaned descendants. It reaps those that exit until
// stop is called.
func (r *reaper) adopt() (stop func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	exits := make(chan os.Signal, 1)
	signal.Notify(exits, unix.SIGCHLD)
	var done sync.WaitGroup
	done.Go(func() {
		for range exits {
			r.reap()
		}
	})
	return func() {
		signal.Stop(exits)
		close(exits)
		done.Wait()
	}, nil
}

// exempt starts a program that the reaper does not reap.
func (r *reaper) exempt(start func() (*process.Process, error)) (*process.Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := start()
	if err != nil {
		return nil, err
	}
	if r.own == nil {
		r.own = map[int]bool{}
	}
	r.own[p.Pid()] = true
	go func() {
		<-p.Done()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.own, p.Pid())
	}()
	return p, nil
}

// reap reaps the children that have exited, except the agent's programs.
func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // a thread that has exited has no children
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && !r.own[pid] {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // does nothing if the process runs
			}
		}
	}
}
