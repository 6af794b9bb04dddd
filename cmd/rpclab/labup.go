package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/cluster/local"
	"rpclab/internal/gateway"
	"rpclab/internal/gateway/chain"
	"rpclab/internal/nearest"
	"rpclab/internal/process"
)

// upFlags are what `rpclab lab up` can be told.
type upFlags struct {
	chain.Options
	routes  []string
	targets string
}

func labUpCommand() *cobra.Command {
	var f upFlags
	command := &cobra.Command{
		Use:   "up balancing",
		Short: "Start study 1: for every route a gateway and 3 servers, until Ctrl-C",
		Long: `Starts study 1 on this machine, until it is interrupted: for every route a
gateway, what stands on the route, and servers of its own. ClusterIP is on port
30612 and headless on 30613, as in the study; the table that it prints names the
others.`,
		Example: `  rpclab lab up balancing
  seq 1 50 | xargs -I{} -P20 \
    curl 'http://127.0.0.1:30613/fibonacci/random?iterations=100'
  rpclab lab reset`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "balancing" {
				return usage{fmt.Errorf("lab up %s: say which study: balancing\nSee '%s --help'", strings.Join(args, " "), c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return labUp(c, f) },
	}
	flags := command.Flags()
	flags.StringSliceVar(&f.routes, "routes", nil, "only these routes, comma-separated")
	flags.IntVar(&f.Port, "port", chain.Port, "`port` of the first gateway; each route has its place after it")
	flags.IntVar(&f.Replicas, "replicas", 3, "servers of each route")
	flags.StringVar(&f.Model, "model", gateway.Threads, "of the gateways: "+strings.Join(gateway.Models, ", "))
	flags.StringVar(&f.targets, "targets", "", "write to this `file` where Prometheus finds them (file_sd_configs)")
	return command
}

func labUp(c *cobra.Command, f upFlags) (err error) {
	plans, err := f.plans()
	if err != nil {
		return usage{err}
	}
	if _, err := process.MaxFiles(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, to start servers from it: %w", err)
	}
	f.Self = []string{self}
	for _, p := range plans {
		if err := f.Check(p); err != nil {
			return fmt.Errorf("%w\n%s", err, without(p, plans))
		}
	}
	log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelError}))
	servers, err := local.New(local.Options{Server: []string{self, "server"}, Self: []string{self}, Log: log})
	if err != nil {
		return err
	}
	f.Cluster = servers
	var chains []*chain.Chain
	defer func() {
		for _, running := range chains {
			err = errors.Join(err, running.Close())
		}
		err = errors.Join(err, servers.Close())
	}()
	for _, p := range plans {
		running, err := chain.Start(c.Context(), f.Options, p)
		if err != nil {
			return interrupted(c, fmt.Errorf("%w\n%s", err, without(p, plans)))
		}
		chains = append(chains, running)
	}
	showChains(c, chains)
	watching, cancel := context.WithCancel(c.Context())
	defer cancel()
	go sayLosses(watching, c, chains)
	if f.targets != "" {
		return chain.KeepTargets(c.Context(), f.targets, chains)
	}
	<-c.Context().Done() // which is how a lab ends
	return nil
}

// plans are those asked for.
func (f upFlags) plans() ([]chain.Plan, error) {
	var names []string
	all := chain.Plans()
	for _, p := range all {
		names = append(names, p.Route)
	}
	for _, name := range f.routes {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--routes %s: there is no such route%s", name, nearest.Suggest(name, names))
		}
	}
	if !slices.Contains(gateway.Models, f.Model) {
		return nil, fmt.Errorf("--model %s: there is no such model%s", f.Model, nearest.Suggest(f.Model, gateway.Models))
	}
	if f.Replicas < 1 || f.Replicas > 100 {
		return nil, fmt.Errorf("--replicas %d: it has to be from 1 to 100", f.Replicas)
	}
	if f.Port < 1 || f.Port > 65500 {
		return nil, fmt.Errorf("--port %d: it has to be from 1 to 65500", f.Port)
	}
	if len(f.routes) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(p chain.Plan) bool { return !slices.Contains(f.routes, p.Route) }), nil
}

// without is how the others go on.
func without(p chain.Plan, all []chain.Plan) string {
	var others []string
	for _, other := range all {
		if other.Route != p.Route {
			others = append(others, other.Route)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "To go on without it: --routes " + strings.Join(others, ",")
}

func showChains(c *cobra.Command, chains []*chain.Chain) {
	table := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "route\tport\tmode\ttry")
	for _, running := range chains {
		_, port, _ := strings.Cut(running.Gateway.Address, ":")
		fmt.Fprintf(table, "%s\t%s\t%s\tcurl 'http://%s/fibonacci/random?iterations=100'\n", running.Route, port, running.Route, running.Gateway.Address)
	}
	table.Flush()
	fmt.Fprintln(c.ErrOrStderr(), "Ctrl-C ends it.")
}

// sayLosses says which processes ended unasked, until ctx ends.
func sayLosses(ctx context.Context, c *cobra.Command, chains []*chain.Chain) {
	said := map[string]bool{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, running := range chains {
			for _, loss := range running.Losses() {
				if !said[loss] {
					fmt.Fprintf(c.ErrOrStderr(), "rpclab: route %s: %s\n", running.Route, loss)
				}
				said[loss] = true
			}
		}
	}
}

// interrupted is err, or what an interrupt is.
func interrupted(c *cobra.Command, err error) error {
	if c.Context().Err() != nil {
		return c.Context().Err()
	}
	return err
}
