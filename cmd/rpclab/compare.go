package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/internal/analysis"
	"rpclab/internal/report"
	"rpclab/internal/result"
)

// compareFlags are the flags of `rpclab compare`.
type compareFlags struct {
	gateFlags
	outputs outputs
}

func compareCommand() *cobra.Command {
	var f compareFlags
	command := &cobra.Command{
		Use:   "compare RUN[,RUN...] RUN[,RUN...]",
		Short: "Compare a run with an earlier run",
		Long: `Compares a run with an earlier run, arm by arm, as two independent samples. Any
change of the machine between the runs is part of every ratio, so use the same
machine. The report lists settings that differ. Of several runs on a side, each
is one value, so that changes from run to run count as noise; at least four are
needed on both sides. A run is an ID or the start of one, latest, or a file
(NAME.json) that --json wrote.

A gate is a condition such as 'p99 ratio < 1.2' on the ratio of the second run
to the first. The gate passes when the whole confidence interval of the ratio is
within the bound, and fails, with exit code 1, when the whole interval is beyond
it. When rpclab cannot tell, the exit code is 1 too, unless --undecided pass
says otherwise. Gates can test
` + wrapWords(analysis.GateMetrics()) + `.

Arms whose workload, load or events differ are not compared, nor are --quick
runs with full runs, unless --allow names what may differ. There is no verdict
when other programs used half of the CPU time or more in one of the runs, unless
--allow names busy.`,
		Example: `  rpclab compare 20261119 latest
  rpclab compare before.json latest --gate 'p99 ratio < 1.2' --junit gates.xml
  rpclab compare 20261119 latest --allow workload.greet.delay
  rpclab compare 1A,1C,1E,1G 1B,1D,1F,latest --gate 'p50 ratio < 1.1'`,
		Args: exactly(2, "runs"),
		RunE: abortable(withRuns(func(c *cobra.Command, runs *storedRuns, args []string) error {
			gates, err := f.parse()
			if err := errors.Join(err, f.outputs.check()); err != nil {
				return usageError{err}
			}
			a, inA, errA := mergedRuns(c.Context(), runs, args[0])
			b, inB, errB := mergedRuns(c.Context(), runs, args[1])
			if err := errors.Join(errA, errB); err != nil {
				return err
			}
			if i := slices.IndexFunc(inA, func(id string) bool { return slices.Contains(inB, id) }); i >= 0 && len(inA)+len(inB) > 2 {
				return usageError{fmt.Errorf("run %s is part of A and of B: name it on one side", inA[i])}
			}
			compared := analysis.Compare(a, b, analysis.CompareOptions{Gates: gates, Allow: f.allow})
			if len(compared.Ratios) == 0 && len(gates) == 0 { // a gate that rpclab cannot tell has its own exit code
				return usageError{analysis.Incomparable(compared)}
			}
			if err := f.write(c.OutOrStdout(), compared); err != nil {
				return err
			}
			return f.reportGates(c.ErrOrStderr(), compared)
		})),
	}
	flags := command.Flags()
	f.register(flags, "the second run to the first")
	f.outputs.register(flags)
	return command
}

// mergedRuns reads a comma-separated list of runs and merges their trials. It returns the IDs of the runs too.
func mergedRuns(ctx context.Context, from *storedRuns, refs string) (merged result.Document, ids []string, err error) {
	var runs []result.Document
	for ref := range strings.SplitSeq(refs, ",") {
		d, err := from.load(ctx, ref)
		if err != nil {
			return d, nil, err
		}
		if slices.Contains(ids, d.ID) {
			return d, nil, usageError{fmt.Errorf("%s: run %s is listed twice", refs, d.ID)}
		}
		runs, ids = append(runs, d), append(ids, d.ID)
	}
	if merged, err = analysis.MergeRuns(runs); err != nil {
		err = usageError{err}
	}
	return merged, ids, err
}

// wrapWords breaks words into lines of at most 80 columns.
func wrapWords(words []string) string {
	text, width := "", 0
	for i, word := range words {
		switch {
		case i == 0:
		case width+1+len(word) >= 80:
			text, width = text+"\n", 0
		default:
			text, width = text+" ", width+1
		}
		text, width = text+word, width+len(word)
	}
	return text
}

func (f compareFlags) write(out io.Writer, c result.Comparison) error {
	shared := c
	if !f.outputs.keepPaths {
		shared = result.WithoutPaths(c)
	}
	return f.outputs.render(out, renderings{
		terminal: func(w io.Writer) error { return report.Compare(w, c, f.outputs.terminal(w)) },
		json:     func(w io.Writer) error { return result.WriteComparison(w, shared) },
		md:       func(w io.Writer) error { return report.CompareMarkdown(w, shared) },
		junit: func(w io.Writer) error {
			return report.CompareJUnit(w, shared, len(f.texts) > 0 && f.undecided == undecidedFails)
		},
	})
}
