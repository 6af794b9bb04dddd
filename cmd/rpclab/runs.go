package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/analysis"
	generator "rpclab/internal/load"
	"rpclab/internal/report"
	"rpclab/internal/result"
)

func runsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "runs",
		Short:   "List the stored runs, newest first",
		Example: "  rpclab runs",
		Args:    noArgs,
		RunE: abortable(readStore(func(c *cobra.Command, store *result.Store, _ []string) error {
			rows, err := store.List(c.Context())
			if err != nil {
				return err
			}
			return report.Runs(c.OutOrStdout(), rows)
		})),
	}
}

func reportCommand() *cobra.Command {
	var o outputs
	command := &cobra.Command{
		Use:   "report RUN",
		Short: "Print the report of a stored run",
		Long: `Prints the report of a run. RUN is an ID, the start of an ID, 'latest', or a
file that --json wrote (NAME.json).`,
		Example: `  rpclab report latest
  rpclab report 20261120-1845 --md report.md --html report.html`,
		Args: exactly(1, "run"),
		RunE: abortable(readStore(func(c *cobra.Command, store *result.Store, args []string) error {
			if err := o.check(); err != nil {
				return usageError{err}
			}
			d, err := load(c.Context(), store, args[0])
			if err != nil {
				return err
			}
			if err := o.write(c, d, nil); err != nil {
				return err
			}
			if d.Experiment != generator.Experiment && !o.full {
				printReportHint(c, o, d.Experiment, args[0])
			}
			return nil
		})),
	}
	o.register(command.Flags())
	o.registerRun(command.Flags())
	return command
}

// load reads a run from the store or from a file. A run whose process was killed is assembled
// from its trials.
func load(ctx context.Context, store *result.Store, ref string) (result.Document, error) {
	if strings.HasSuffix(ref, ".json") {
		return loadFile(ref)
	}
	d, complete, err := store.Get(ctx, ref)
	if errors.Is(err, result.ErrUnknownRun) {
		return d, usageError{err}
	}
	if err != nil || complete {
		return d, err
	}
	return analysis.Assemble(d), nil
}

func loadFile(path string) (d result.Document, err error) {
	file, err := os.Open(path)
	if err != nil {
		return d, usageError{fmt.Errorf("cannot read the run in %s: %w", path, errors.Unwrap(err))}
	}
	defer file.Close()
	if d, err = result.Read(file); err != nil {
		return d, usageError{fmt.Errorf("%s: %w", path, err)}
	}
	return d, nil
}

// readStore runs a command that only reads the store, so the store may be read-only.
func readStore(do func(*cobra.Command, *result.Store, []string) error) func(*cobra.Command, []string) error {
	return withStore(result.OpenStoreToRead, do)
}

func withStore(open func(string) (*result.Store, error), do func(*cobra.Command, *result.Store, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) (err error) {
		store, err := openStore(open)
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
		return usageError{fmt.Errorf("%s needs %d %s, but got %d ('rpclab runs' lists them)\nSee '%s --help'",
			c.CommandPath(), n, what, len(args), c.CommandPath())}
	}
}

// storeFlags say whether to store results for `rpclab runs`.
type storeFlags struct{ noStore bool }

func (k *storeFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&k.noStore, "no-store", false, "do not store the result in the user's data directory")
}

// open returns the store and a function that closes it. The store is nil under --no-store.
func (k storeFlags) open() (store *result.Store, done func() error, err error) {
	if k.noStore {
		return nil, func() error { return nil }, nil
	}
	if store, err = openStore(result.OpenStore); err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}

// printReportHint prints the command that shows the full report.
func printReportHint(c *cobra.Command, o outputs, experiment, run string) {
	switch {
	case o.json == "-":
	case experiment == generator.Experiment: // its report has all numbers
		fmt.Fprintf(c.OutOrStdout(), "\nShow this report again: `rpclab report %s`\n", run)
	case o.full:
		fmt.Fprintf(c.OutOrStdout(), "\nShow this report again: `rpclab report %s --full`\n", run)
	default:
		fmt.Fprintf(c.OutOrStdout(), "\nAll numbers: `rpclab report %s --full`\n", run)
	}
}

// openStore opens the store in the user's data directory.
func openStore(open func(string) (*result.Store, error)) (*result.Store, error) {
	dir, err := result.DataDir()
	if err != nil {
		return nil, err
	}
	return open(dir)
}
