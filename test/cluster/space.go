//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/vishvananda/netns"
)

// space is a machine of the cluster: a process 1 with its own namespaces that runs programs. When it or the
// supervisor ends, the kernel kills all its processes and removes its network and mounts
// (pid_namespaces(7)).
type space struct {
	name   string
	dir    string // which is /var inside
	pid    int
	orders io.Writer
	ended  chan struct{}
	err    error // says how it ended
}

// order is a program for a space to run: name and arguments. Its log is /var/log/NAME.log.
type order []string

// newSpace starts a space. Call it on the main thread. The directory programs becomes /var/bin.
func newSpace(name, dir, programs string) (*space, error) {
	for _, sub := range []string{"bin", "etc", "lib", "log", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(filepath.Join(dir, "log", "init.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", "init", name, dir)
	cmd.Env = append(os.Environ(), "PATH=/var/bin:"+os.Getenv("PATH"), "RPCLAB_PROGRAMS="+programs)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process with its own namespaces, which needs root: %w", err)
	}
	s := &space{name: name, dir: dir, pid: cmd.Process.Pid, orders: orders, ended: make(chan struct{})}
	go func() {
		s.err = fmt.Errorf("%s ended (%w): see %s", name, cmd.Wait(), filepath.Join(dir, "log"))
		close(s.ended)
	}()
	return s, nil
}

// start starts programs in the space.
func (s *space) start(programs ...order) error {
	for _, program := range programs {
		if err := json.NewEncoder(s.orders).Encode(program); err != nil {
			return fmt.Errorf("start %s in %s: %w", program[0], s.name, err)
		}
	}
	return nil
}

// dial connects to an address (IP:port) from inside the space.
func (s *space) dial(ctx context.Context, network, address string) (net.Conn, error) {
	// For an IP address net.Dialer creates the socket on the calling thread.
	return inNetworkOf(s, func() (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, network, address) })
}

// listen listens at an address (IP:port) of the space.
func (s *space) listen(address string) (net.Listener, error) {
	return inNetworkOf(s, func() (net.Listener, error) { return net.Listen("tcp4", address) })
}

// filter loads rules of nftables into the network of the space.
func (s *space) filter(ctx context.Context, rules string) error {
	nft := exec.CommandContext(ctx, "nft", "-f", "-")
	nft.Stdin = strings.NewReader(rules)
	_, err := inNetworkOf(s, func() (struct{}, error) { return struct{}{}, output(nft) })
	return err
}

// inNetworkOf calls do on a thread in the network of a space. Sockets and processes stay in the network in which
// they were created.
func inNetworkOf[T any](s *space, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with this goroutine
		if err := enterNetwork(s.pid); err != nil {
			done <- result{err: err}
			return
		}
		value, err := do()
		done <- result{value, err}
	}()
	r := <-done
	return r.value, r.err
}

// enterNetwork moves the thread, which the caller has locked, into the network of a process.
func enterNetwork(pid int) error {
	ns, err := netns.GetFromPid(pid)
	if err != nil {
		return err
	}
	defer ns.Close()
	if err := netns.Set(ns); err != nil {
		return fmt.Errorf("enter the network of process %d, which needs root: %w", pid, err)
	}
	return nil
}
