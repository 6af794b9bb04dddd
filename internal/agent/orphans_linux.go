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

// reaper buries what programs leave behind, as the first process of a container has to:
// nobody else waits for it.
type reaper struct {
	mu  sync.Mutex
	own map[int]bool // those that others here wait for
}

// adopt makes this process the parent of all orphans below it, first in its container or
// not, and buries those that have ended until stop is called.
func (r *reaper) adopt() (stop func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	var done sync.WaitGroup
	done.Go(func() {
		for range ended {
			r.bury()
		}
	})
	return func() {
		signal.Stop(ended)
		close(ended)
		done.Wait()
	}, nil
}

// sparing starts a program that is not buried here.
func (r *reaper) sparing(start func() (*process.Process, error)) (*process.Process, error) {
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

func (r *reaper) bury() {
	r.mu.Lock()
	defer r.mu.Unlock()
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // of a thread that is gone: it has none
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && !r.own[pid] {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // one that lives on is left alone
			}
		}
	}
}
