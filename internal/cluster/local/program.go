package local

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
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
	if err := process.CheckProgram("server", p.Command[0], p.Dir, p.Env); err != nil && !strings.Contains(p.Command[0], "{{") {
		return err
	}
	if replicas < 2 || p.Uses("Address") || p.Uses("Host") || c.addresses.one && p.Uses("Port") {
		return nil
	}
	return fmt.Errorf("server.command has no {{.Address}} (host:port) and no {{.Host}}, so its %d replicas would all listen at one address: "+
		"add {{.Address}}, or {{.Host}} and {{.Port}}, to server.command or server.env", replicas)
}
