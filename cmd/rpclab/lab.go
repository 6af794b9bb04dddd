package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/cluster/local"
	"rpclab/internal/gateway"
	"rpclab/internal/gateway/stack"
	"rpclab/internal/process"
	"rpclab/internal/suggest"
)

func labCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "lab",
		Short: "Start the servers of a published study by hand",
		Args:  knownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(labUpCommand(), labResetCommand())
	return command
}

func labResetCommand() *cobra.Command {
	port := stack.Port
	command := &cobra.Command{
		Use:     "reset",
		Short:   "Reset the call counters of every running gateway to 0",
		Example: `  rpclab lab reset`,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			count := 0
			for _, p := range stack.Plans() {
				switch err := resetGateway(c.Context(), port+p.Offset); {
				case err == nil:
					count++
				case !errors.Is(err, syscall.ECONNREFUSED): // refused: this gateway does not run
					return fmt.Errorf("route %s: %w", p.Route.Name, err)
				}
			}
			if count == 0 {
				return fmt.Errorf("no gateway is running on port %d or the ports after it: start them with 'rpclab lab up balancing'", port)
			}
			fmt.Fprintf(c.ErrOrStderr(), "rpclab: reset the counters of %d gateways\n", count)
			return nil
		},
	}
	command.Flags().IntVar(&port, "port", stack.Port, "`port` of the first gateway")
	return command
}

// resetGateway sets the counters of the gateway on a port to 0.
func resetGateway(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:"+strconv.Itoa(port)+"/-/reset", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if response.Body.Close(); response.StatusCode != http.StatusOK {
		return fmt.Errorf("the program that listens on port %d is no gateway: it responds %s", port, response.Status)
	}
	return nil
}

// labUpFlags are the flags of `rpclab lab up`.
type labUpFlags struct {
	stack.Options
	routes  []string
	targets string
}

func labUpCommand() *cobra.Command {
	var f labUpFlags
	command := &cobra.Command{
		Use:   "up balancing",
		Short: "Start a gateway and 3 servers for every route, until Ctrl-C",
		Long: `Starts the servers of the published comparison of load balancing (see
docs/studies.md) on this machine until Ctrl-C: for every route a gateway, the
proxies of the route, and its own servers. The gateway of clusterip is on port
30612 and that of headless on 30613, as in the study. The command prints a table
of all gateways.`,
		Example: `  rpclab lab up balancing
  seq 1 50 | xargs -I{} -P20 \
    curl 'http://127.0.0.1:30613/fibonacci/random?iterations=100'
  rpclab lab reset`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "balancing" {
				return usageError{fmt.Errorf("lab up %s: the only study is balancing\nSee '%s --help'", strings.Join(args, " "), c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return labUp(c, f) },
	}
	flags := command.Flags()
	flags.StringSliceVar(&f.routes, "routes", nil, "start only these routes, comma-separated")
	flags.IntVar(&f.Port, "port", stack.Port, "`port` of the first gateway; the other gateways use ports after it")
	flags.IntVar(&f.Replicas, "replicas", 3, "number of servers of each route")
	flags.StringVar(&f.Model, "model", gateway.Threads, "`model` of the gateways: "+strings.Join(gateway.Models, ", "))
	flags.StringVar(&f.targets, "targets", "", "write the targets for Prometheus to `file` (file_sd_configs)")
	return command
}

func labUp(c *cobra.Command, f labUpFlags) (err error) {
	plans, err := f.plans()
	if err != nil {
		return usageError{err}
	}
	if _, err := process.RaiseFileLimit(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the rpclab binary to start servers from it: %w", err)
	}
	f.Self = []string{self}
	for _, p := range plans {
		if err := f.Check(p); err != nil {
			return fmt.Errorf("%w\n%s", err, routesWithout(p, plans))
		}
	}
	log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelError}))
	servers, err := local.New(local.Options{Server: []string{self, "server"}, Self: []string{self}, Log: log})
	if err != nil {
		return err
	}
	f.Cluster = servers
	var stacks []*stack.Stack
	defer func() {
		for _, running := range stacks {
			err = errors.Join(err, running.Close())
		}
		err = errors.Join(err, servers.Close())
	}()
	for _, p := range plans {
		running, err := stack.Start(c.Context(), f.Options, p)
		if err != nil {
			return orInterrupted(c, fmt.Errorf("%w\n%s", err, routesWithout(p, plans)))
		}
		stacks = append(stacks, running)
	}
	printStacks(c, stacks)
	watching, cancel := context.WithCancel(c.Context())
	defer cancel()
	go reportEndedProcesses(watching, c, stacks)
	if f.targets != "" {
		return stack.WriteTargets(c.Context(), f.targets, stacks)
	}
	<-c.Context().Done() // until Ctrl-C
	return nil
}

// plans are the plans of the requested routes.
func (f labUpFlags) plans() ([]stack.Plan, error) {
	var names []string
	all := stack.Plans()
	for _, p := range all {
		names = append(names, p.Route.Name)
	}
	for _, name := range f.routes {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--routes: no route %q%s", name, suggest.DidYouMean(name, names))
		}
	}
	if !slices.Contains(gateway.Models, f.Model) {
		return nil, fmt.Errorf("--model: no model %q%s", f.Model, suggest.DidYouMean(f.Model, gateway.Models))
	}
	if f.Replicas < 1 || f.Replicas > 100 {
		return nil, fmt.Errorf("--replicas %d: use 1 to 100", f.Replicas)
	}
	if f.Port < 1 || f.Port > 65500 {
		return nil, fmt.Errorf("--port %d: use 1 to 65500", f.Port)
	}
	if len(f.routes) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(p stack.Plan) bool { return !slices.Contains(f.routes, p.Route.Name) }), nil
}

// routesWithout suggests the flag that leaves a route out.
func routesWithout(p stack.Plan, all []stack.Plan) string {
	var others []string
	for _, other := range all {
		if other.Route.Name != p.Route.Name {
			others = append(others, other.Route.Name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "To leave this route out: --routes " + strings.Join(others, ",")
}

func printStacks(c *cobra.Command, stacks []*stack.Stack) {
	table := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "route\tport\tmode\ttry")
	for _, running := range stacks {
		_, port, _ := strings.Cut(running.Gateway.Address, ":")
		fmt.Fprintf(table, "%s\t%s\t%s\tcurl 'http://%s/fibonacci/random?iterations=100'\n", running.Route.Name, port, running.Route.Name, running.Gateway.Address)
	}
	table.Flush()
	fmt.Fprintln(c.ErrOrStderr(), "Press Ctrl-C to stop.")
}

// reportEndedProcesses prints the processes that exited unexpectedly, until ctx ends.
func reportEndedProcesses(ctx context.Context, c *cobra.Command, stacks []*stack.Stack) {
	reported := map[string]bool{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, running := range stacks {
			for _, failure := range running.Failures() {
				if !reported[failure] {
					fmt.Fprintf(c.ErrOrStderr(), "rpclab: route %s: %s\n", running.Route.Name, failure)
				}
				reported[failure] = true
			}
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
