package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

func runsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "runs",
		Short: "List, accept, remove, export and import stored runs",
		Example: `  rpclab runs
  rpclab runs accept latest
  rpclab runs rm --older-than 30d
  rpclab runs export latest -o run.tar.gz`,
		Args: noArgs,
		RunE: abortable(withStore(result.OpenStoreToRead, func(c *cobra.Command, store *result.Store, _ []string) error {
			rows, err := store.List(c.Context())
			if err != nil {
				return err
			}
			size, err := store.Size(c.Context())
			if err != nil {
				return err
			}
			return report.Runs(c.OutOrStdout(), rows, size)
		})),
	}
	command.AddCommand(acceptCommand(), removeCommand(), exportCommand(), importCommand())
	return command
}

func reportCommand() *cobra.Command {
	var o outputs
	command := &cobra.Command{
		Use:   "report RUN",
		Short: "Print the report of a stored run",
		Long: `Prints the report of a run. RUN is an ID, the start of an ID, 'latest', or a
file that --json wrote (NAME.json).`,
		Example: `  rpclab report latest
  rpclab report 20261120-1845 --md report.md --html report.html
  rpclab report latest --benchstat new.txt && benchstat old.txt new.txt
  rpclab report latest --k6-summary summary.json --hgrm latency`,
		Args: exactly(1, "run"),
		RunE: abortable(withRuns(func(c *cobra.Command, runs *storedRuns, args []string) error {
			if err := o.check(); err != nil {
				return usageError{err}
			}
			d, err := runs.load(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := o.write(c, d); err != nil {
				return err
			}
			if !isLoad(d) && !o.full && o.benchstat != "-" && o.k6 != "-" {
				printReportHint(c, o, d, args[0])
			}
			return nil
		})),
	}
	o.register(command.Flags())
	o.registerRun(command.Flags())
	command.Flags().StringVar(&o.benchstat, "benchstat", "", "write a line for each trial to `file`, in the format of benchstat; - writes nothing else to standard output")
	command.Flags().StringVar(&o.k6, "k6-summary", "", "write the metrics to `file`, as k6 --summary-export does; - writes nothing else to standard output")
	command.Flags().StringVar(&o.hgrm, "hgrm", "", "write the latency of each arm to `directory`/ARM.hgrm, in the format of HdrHistogram")
	return command
}

// printReportHint prints the command that shows the full report of a run, which the user names so.
func printReportHint(c *cobra.Command, o outputs, d result.Document, run string) {
	switch {
	case o.json == "-":
	case isLoad(d): // its report has all numbers
		fmt.Fprintf(c.OutOrStdout(), "\nShow this report again: `rpclab report %s`\n", run)
	case o.full:
		fmt.Fprintf(c.OutOrStdout(), "\nShow this report again: `rpclab report %s --full`\n", run)
	default:
		fmt.Fprintf(c.OutOrStdout(), "\nAll numbers: `rpclab report %s --full`\n", run)
	}
}
