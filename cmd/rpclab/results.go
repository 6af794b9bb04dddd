package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rpclab/internal/lab"
	"rpclab/internal/report"
	"rpclab/internal/result"
)

func runsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "runs",
		Short:   "List the runs that are kept, newest first",
		Example: "  rpclab runs",
		Args:    noArgs,
		RunE: withStore(func(c *cobra.Command, store *result.Store, _ []string) error {
			rows, err := store.List(c.Context())
			if err != nil {
				return err
			}
			return report.Runs(c.OutOrStdout(), rows)
		}),
	}
}

func reportCommand() *cobra.Command {
	var o outputs
	command := &cobra.Command{
		Use:   "report RUN",
		Short: "Show the report of a run again",
		Long:  "Shows the report of a run by its id, the start of its id, or 'latest'.",
		Example: `  rpclab report latest
  rpclab report 20261120-1845 --md report.md`,
		Args: exactly(1, "run"),
		RunE: withStore(func(c *cobra.Command, store *result.Store, args []string) error {
			if err := o.check(); err != nil {
				return usage{err}
			}
			d, err := load(c.Context(), store, args[0])
			if err != nil {
				return err
			}
			return o.write(c, d)
		}),
	}
	o.register(command.Flags())
	return command
}

func compareCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "compare RUN RUN",
		Short:   "Put two runs beside each other",
		Example: "  rpclab compare 20261119 latest",
		Args:    exactly(2, "runs"),
		RunE: withStore(func(c *cobra.Command, store *result.Store, args []string) error {
			a, errA := load(c.Context(), store, args[0])
			b, errB := load(c.Context(), store, args[1])
			if err := errors.Join(errA, errB); err != nil {
				return err
			}
			return report.Compare(c.OutOrStdout(), a, b, terminal(c.OutOrStdout()))
		}),
	}
}

// load reads a run. One whose process was killed is assembled from its trials.
func load(ctx context.Context, store *result.Store, ref string) (result.Document, error) {
	d, complete, err := store.Get(ctx, ref)
	if errors.Is(err, result.ErrUnknownRun) {
		return d, usage{err}
	}
	if err != nil || complete {
		return d, err
	}
	return lab.Assemble(d), nil
}

func withStore(do func(*cobra.Command, *result.Store, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) (err error) {
		store, err := openStore()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		return do(c, store, args)
	}
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usage{fmt.Errorf("%s takes %d %s, but got %d ('rpclab runs' lists them)\nSee '%s --help'",
			c.CommandPath(), n, what, len(args), c.CommandPath())}
	}
}
