//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// state describes a running cluster to other processes of this program. It is a file in the directory of the
// cluster.
type state struct {
	Supervisor        running
	ControlPlane      running
	Nodes             []running
	EndpointsPerSlice int // at most
	Ready             bool
}

// running is a process with its start time, because process IDs are reused.
type running struct {
	Pid   int
	Start string
}

// directory returns the directory of a cluster.
func directory(name string) (string, error) {
	home := os.Getenv("XDG_STATE_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		home = filepath.Join(user, ".local", "state")
	}
	if name == "" || strings.ContainsAny(name, "/.") {
		return "", fmt.Errorf("--name %q: the name is used as a directory and must not contain / or a dot", name)
	}
	return filepath.Join(home, "rpclab", "cluster", name), nil
}

func kubeconfigIn(dir string) string { return filepath.Join(dir, "kubeconfig") }
func kubectlIn(dir string) string    { return filepath.Join(dir, "kubectl") }

func readState(dir string) (s state, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(raw, &s)
}

func (s state) write(dir string) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	part := filepath.Join(dir, "cluster.json.part")
	if err := os.WriteFile(part, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(dir, "cluster.json"))
}

// readyState returns the state of a running cluster.
func readyState(name string) (state, string, error) {
	dir, err := directory(name)
	if err != nil {
		return state{}, "", err
	}
	s, err := readState(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return state{}, "", err
	}
	if !s.Ready || !s.Supervisor.alive() {
		return state{}, "", fmt.Errorf("the cluster %q does not run: start it with `make cluster-up`", name)
	}
	return s, dir, nil
}

// processOf describes a live process.
func processOf(pid int) running {
	_, start := stat(pid)
	return running{Pid: pid, Start: start}
}

// alive is false for a zombie too.
func (r running) alive() bool {
	status, start := stat(r.Pid)
	return r.Pid != 0 && start == r.Start && status != "" && status != "Z" && status != "X"
}

// kill kills the process, if it exists, and returns when it has ended.
func (r running) kill(patience time.Duration) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); r.alive(); <-tick.C {
		if err := syscall.Kill(r.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill process %d: %w", r.Pid, err)
		}
		if time.Now().After(end) {
			return fmt.Errorf("process %d still runs %v after SIGKILL", r.Pid, patience)
		}
	}
	return nil
}

// stat is the state of a process and the time of its start, fields 3 and 22 of
// /proc/PID/stat; empty if it does not exist. The name before them may contain spaces: proc(5).
func stat(pid int) (status, start string) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 20 {
		return "", ""
	}
	return fields[0], fields[19]
}
