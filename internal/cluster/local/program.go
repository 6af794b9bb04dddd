package local

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
)

// startProgram starts a program of the user's as a backend. It reads no commands from rpclab, so its standard
// input is empty, and the processes that it starts end with it.
func startProgram(id string, addr netip.AddrPort, program *cluster.Program, limits limits, probeSource netip.Addr) (*replica, error) {
	command, env, err := program.For(cluster.ReplicaAt(id, addr))
	if err != nil {
		return nil, err
	}
	if conn, err := net.DialTimeout("tcp", addr.String(), probePeriod); err == nil {
		return nil, errors.Join(fmt.Errorf("server %s cannot listen at %s: another process already listens there. End that process, "+
			"or let every server listen at its {{.Address}} only, not at all addresses of this machine", id, addr), conn.Close())
	}
	health, err := healthOf(program.Ready, addr, probeSource)
	if err != nil {
		return nil, err
	}
	p, err := process.Start(process.Spec{
		Args: limits.command(command), Dir: program.Dir, Env: slices.Concat(limits.env, env), Processors: limits.processors,
		HasChildren: true, NoInput: true,
	})
	if err != nil {
		return nil, errors.Join(err, health.Close())
	}
	return &replica{id: id, addr: addr, process: p, health: &flapping{health: health}, limits: limits, program: program, command: command}, nil
}

// checkProgram returns an error if a program cannot run as so many replicas at once; nil is rpclab's own server.
func (c *Cluster) checkProgram(p *cluster.Program, replicas int) error {
	if p == nil {
		return nil
	}
	if err := p.Check(); err != nil {
		return err
	}
	if err := findCommand(p.Command[0], p.Dir, p.Env); err != nil && !strings.Contains(p.Command[0], "{{") {
		return err
	}
	if replicas < 2 || p.Uses("Address") || p.Uses("Host") || c.addresses.one && p.Uses("Port") {
		return nil
	}
	return fmt.Errorf("server.command has no {{.Address}} (host:port) and no {{.Host}}, so its %d replicas would all listen at one address: "+
		"add {{.Address}}, or {{.Host}} and {{.Port}}, to server.command or server.env", replicas)
}

// findCommand returns an error if the program of a command line does not exist, or cannot be executed. A name
// with a slash is relative to the working directory, other names are in PATH.
func findCommand(name, dir string, env []string) error {
	if info, err := os.Stat(directory(dir)); err != nil || !info.IsDir() {
		return fmt.Errorf("server.dir: there is no directory %s", dir)
	}
	here := filepath.Join(directory(dir), name)
	if filepath.IsAbs(name) {
		here = name
	}
	_, err := exec.LookPath(here)
	if strings.Contains(name, "/") {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("server.command: there is no program %s in %s", name, directory(dir))
		case err != nil:
			return fmt.Errorf("server.command: %s in %s cannot be executed: make it executable with chmod +x", name, directory(dir))
		}
		return nil
	}
	path := os.Getenv("PATH")
	for _, setting := range env {
		if value, ok := strings.CutPrefix(setting, "PATH="); ok {
			path = value
		}
	}
	for _, place := range filepath.SplitList(path) {
		if _, err := exec.LookPath(filepath.Join(place, name)); err == nil {
			return nil
		}
	}
	if err == nil {
		return fmt.Errorf("server.command: there is no program %s in PATH; for the one in %s write ./%s", name, directory(dir), name)
	}
	return fmt.Errorf("server.command: there is no program %s in PATH, and none in %s", name, directory(dir))
}
