package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

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
		Long: `Shows the report of a run: by its id, the start of its id, 'latest', or the
file that --json made of it (NAME.json).`,
		Example: `  rpclab report latest
  rpclab report 20261120-1845 --md report.md --html report.html`,
		Args: exactly(1, "run"),
		RunE: withStore(func(c *cobra.Command, store *result.Store, args []string) error {
			if err := o.check(); err != nil {
				return usage{err}
			}
			d, err := load(c.Context(), store, args[0])
			if err != nil {
				return err
			}
			return o.write(c, d, nil)
		}),
	}
	o.register(command.Flags())
	o.registerHTML(command.Flags())
	return command
}

// load reads a run, from the store or from a file. One whose process was killed is
// assembled from its trials.
func load(ctx context.Context, store *result.Store, ref string) (result.Document, error) {
	if strings.HasSuffix(ref, ".json") {
		return loadFile(ref)
	}
	d, complete, err := store.Get(ctx, ref)
	if errors.Is(err, result.ErrUnknownRun) {
		return d, usage{err}
	}
	if err != nil || complete {
		return d, err
	}
	return lab.Assemble(d), nil
}

func loadFile(path string) (d result.Document, err error) {
	file, err := os.Open(path)
	if err != nil {
		return d, usage{fmt.Errorf("cannot read the run in %s: %w", path, errors.Unwrap(err))}
	}
	defer file.Close()
	if d, err = result.Read(file); err != nil {
		return d, usage{fmt.Errorf("%s: %w", path, err)}
	}
	return d, nil
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
