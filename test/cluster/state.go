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

// state is what a harness knows of a cluster that another process of it runs. It lies in
// the cluster's directory, with everything else that the cluster keeps.
type state struct {
	Supervisor   running
	ControlPlane running
	Nodes        []running
	Ready        bool
}

// running is a process, which the time of its start tells from a later one of the same id.
type running struct {
	Pid   int
	Start string
}

// directory is all that a cluster keeps.
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
		return "", fmt.Errorf("--name %q: it becomes the name of a directory and may not contain / or a dot", name)
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

// readyState is that of a cluster that runs.
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
		return state{}, "", fmt.Errorf("no cluster %q runs: start it with `make cluster-up`", name)
	}
	return s, dir, nil
}

// process describes one that lives.
func process(pid int) running {
	_, start := stat(pid)
	return running{Pid: pid, Start: start}
}

// alive is false of a zombie too: nobody may ever bury it.
func (r running) alive() bool {
	status, start := stat(r.Pid)
	return r.Pid != 0 && start == r.Start && status != "" && status != "Z" && status != "X"
}

// kill ends the process, if it is there, and returns when it is gone.
func (r running) kill(patience time.Duration) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); r.alive(); <-tick.C {
		if err := syscall.Kill(r.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill process %d: %w", r.Pid, err)
		}
		if time.Now().After(end) {
			return fmt.Errorf("process %d is still there %v after SIGKILL", r.Pid, patience)
		}
	}
	return nil
}

// stat is the state of a process and the time of its start, fields 3 and 22 of
// /proc/PID/stat; empty: there is none. The name before them may hold anything: proc(5).
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
