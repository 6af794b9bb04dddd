package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/cluster"
	"rpclab/internal/gateway/stack"
	"rpclab/internal/language"
	"rpclab/internal/process"
	"rpclab/internal/tool"
)

// checkPort returns an error unless a port, and those after it that a study may use, exist.
func checkPort(flag string, port int) error {
	if port < 1 || port > 65500 {
		return fmt.Errorf("%s %d: use 1 to 65500", flag, port)
	}
	return nil
}

// checkPorts checks the ports of the two servers of a study.
func checkPorts(rest, grpc int) error {
	if rest == grpc {
		return fmt.Errorf("--rest-port and --port are both %d: use two ports, one for each server", rest)
	}
	return errors.Join(checkPort("--rest-port", rest), checkPort("--port", grpc))
}

// languageCommand builds the programs of a language and returns their command; nil: rpclab's own.
func languageCommand(c *cobra.Command, name string) ([]string, error) {
	if name == language.Go {
		return nil, nil
	}
	l, err := language.Lookup(name)
	if err != nil {
		return nil, err
	}
	say := func(line string) { fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", name, line) }
	return l.Build(c.Context(), nil, &lineWriter{say: say})
}

// newLabCluster is the cluster of `rpclab lab up`.
func newLabCluster(c *cobra.Command) (servers cluster.Cluster, self []string, err error) {
	if _, err := process.RaiseFileLimit(); err != nil {
		return nil, nil, err
	}
	if self, err = thisProgram("servers"); err != nil {
		return nil, nil, err
	}
	servers, err = openLocal(c.ErrOrStderr(), self)
	return servers, self, err
}

// gatewayLab is a study whose servers are called through gateways.
type gatewayLab struct {
	stack.Options
	flags    labFlags
	language string // of gateways and servers
	plans    []stack.Plan
	targets  string                  // file with the targets for Prometheus; empty: none
	paths    []string                // of a gateway, to try
	remedy   func(stack.Plan) string // what to do if a stack does not start
	started  func(*stack.Stack)      // runs together with the first stack until the lab ends; nil: nothing
}

// runGateways starts the stacks and runs them until Ctrl-C.
func runGateways(c *cobra.Command, l gatewayLab) (err error) {
	start, end, err := l.prepare(c)
	if err != nil {
		return err
	}
	var stacks []*stack.Stack
	defer func() { err = errors.Join(err, end(stacks)) }()
	rows := [][]string{{"route", "port", "mode", "try"}}
	for _, p := range l.plans {
		running, err := start(p)
		if err != nil {
			return orInterrupted(c, fmt.Errorf("%w%s", err, l.remedy(p)))
		}
		stacks = append(stacks, running)
		_, port, _ := strings.Cut(running.Address, ":")
		for _, path := range l.paths {
			rows = append(rows, []string{p.Route.Name, port, p.Route.Name, fmt.Sprintf("curl 'http://%s%s'", running.Address, path)})
		}
	}
	if l.started != nil {
		go l.started(stacks[0])
	}
	showLab(c, rows, func() (all []string) {
		for _, running := range stacks {
			for _, failure := range running.Failures() {
				all = append(all, fmt.Sprintf("route %s: %s", running.Route.Name, failure))
			}
		}
		return all
	})
	if l.targets != "" {
		return stack.WriteTargets(c.Context(), l.targets, stacks)
	}
	<-c.Context().Done() // until Ctrl-C
	return nil
}

// prepare returns how to start a stack, here or on Kubernetes, and how to end all.
func (l gatewayLab) prepare(c *cobra.Command) (start func(stack.Plan) (*stack.Stack, error), end func([]*stack.Stack) error, err error) {
	if l.flags.remote() {
		var tools []tool.Tool
		for _, p := range l.plans {
			if p.Route.Binary.Name != "" {
				tools = append(tools, p.Route.Binary)
			}
		}
		remote, err := l.flags.open(c, tools, l.language)
		return func(p stack.Plan) (*stack.Stack, error) { return remote.startStack(c.Context(), l.Options, p) },
			func([]*stack.Stack) error { return remote.close() }, err
	}
	for _, p := range l.plans {
		if err := l.Check(p); err != nil {
			return nil, nil, fmt.Errorf("%w%s", err, l.remedy(p))
		}
	}
	if l.Server, err = languageCommand(c, l.language); err != nil {
		return nil, nil, err
	}
	servers, self, err := newLabCluster(c)
	if err != nil {
		return nil, nil, err
	}
	l.Self, l.Cluster, l.Gateway = self, servers, l.Server
	return func(p stack.Plan) (*stack.Stack, error) { return stack.Start(c.Context(), l.Options, p) },
		func(stacks []*stack.Stack) (err error) {
			for _, running := range stacks {
				err = errors.Join(err, running.Close())
			}
			return errors.Join(err, servers.Close())
		}, nil
}

// labServer is a server of a study that is called directly, at an address of its own.
type labServer struct {
	cluster.Spec
	what string   // the server, as the table names it
	try  []string // commands
}

// runServers starts the servers, in a language, and runs them until Ctrl-C. It calls started, unless that is nil, when all run.
func runServers(c *cobra.Command, f labFlags, languageName string, all []labServer, started func()) (err error) {
	start, end, err := prepareServers(c, f, languageName, all)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	var running []cluster.Deployment
	rows := [][]string{{"server", "address", "try"}}
	for _, s := range all {
		s.Replicas = 1
		d, address, err := start(s.Spec)
		if err != nil {
			return orInterrupted(c, fmt.Errorf("%s: %w", s.what, err))
		}
		running = append(running, d)
		for _, try := range s.try {
			rows = append(rows, []string{s.what, address, strings.ReplaceAll(try, s.Listen, address)})
		}
	}
	if started != nil {
		started()
	}
	showLab(c, rows, func() (failures []string) {
		for i, d := range running {
			for _, failure := range d.Failures() {
				failures = append(failures, all[i].what+": "+failure)
			}
		}
		return failures
	})
	<-c.Context().Done() // until Ctrl-C
	return nil
}

// prepareServers returns how to start a server, here or on Kubernetes, and how to end all.
func prepareServers(c *cobra.Command, f labFlags, languageName string, all []labServer) (start func(cluster.Spec) (cluster.Deployment, string, error), end func() error, err error) {
	if f.remote() {
		remote, err := f.open(c, nil, languageName)
		return func(spec cluster.Spec) (cluster.Deployment, string, error) {
			return remote.startServer(c.Context(), spec)
		}, remote.close, err
	}
	command, err := languageCommand(c, languageName)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		listener, err := net.Listen("tcp", s.Listen)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: cannot listen on %s: %w: stop the program that uses it, or choose another port", s.what, s.Listen, err)
		}
		if err := listener.Close(); err != nil {
			return nil, nil, err
		}
	}
	servers, _, err := newLabCluster(c)
	if err != nil {
		return nil, nil, err
	}
	return func(spec cluster.Spec) (cluster.Deployment, string, error) {
		spec.Command = command
		d, err := servers.Deploy(c.Context(), spec)
		return d, spec.Listen, err
	}, servers.Close, nil
}

// showLab prints what runs, and afterwards the processes that exit unexpectedly.
func showLab(c *cobra.Command, rows [][]string, failures func() []string) {
	table := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	table.Flush()
	fmt.Fprintln(c.ErrOrStderr(), "Press Ctrl-C to stop.")
	go reportEndedProcesses(c.Context(), c, failures)
}

// reportEndedProcesses prints each failure once, until ctx ends.
func reportEndedProcesses(ctx context.Context, c *cobra.Command, failures func() []string) {
	reported := map[string]bool{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, failure := range failures() {
			if !reported[failure] {
				fmt.Fprintln(c.ErrOrStderr(), "rpclab:", failure)
			}
			reported[failure] = true
		}
	}
}

// orInterrupted returns the context's error after an interrupt, else err.
func orInterrupted(c *cobra.Command, err error) error {
	if c.Context().Err() != nil {
		return c.Context().Err()
	}
	return err
}
