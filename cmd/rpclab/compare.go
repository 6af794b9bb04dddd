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
	gates     []string
	undecided string
	allow     []string
	outputs   outputs
}

func compareCommand() *cobra.Command {
	var f compareFlags
	command := &cobra.Command{
		Use:   "compare RUN[,RUN...] RUN[,RUN...]",
		Short: "Compare a run with an earlier run",
		Long: `Compares a run with an earlier run, arm by arm, as two independent samples. Any
change of the machine between the runs is part of every ratio, so use the same
machine. The report lists settings that differ. Several runs of the same
experiment or load count as one run with all their trials. A run is an ID, or a
file (NAME.json) that --json wrote.

A gate is a condition such as 'p99 ratio < 1.05' on the ratio of the second run
to the first. The gate passes when the whole confidence interval of the ratio is
within the bound, and fails, with exit code 1, when the whole interval is beyond
it. When rpclab cannot tell, the exit code is 1 too, unless --undecided pass
says otherwise. Gates can test
` + wrapWords(analysis.GateMetrics()) + `.

Arms whose workload or load differs are not compared, nor are --quick runs with
full runs, unless --allow names the setting that may differ. There is no verdict
when other programs used over half of the CPU time in one of the runs, unless
--allow names busy.`,
		Example: `  rpclab compare 20261119 latest
  rpclab compare before.json latest --gate 'p99 ratio < 1.05' --junit gates.xml
  rpclab compare 20261119 latest --allow workload.greet.delay
  rpclab compare 1A,1C,1E,1G 1B,1D,1F,latest --gate 'p50 ratio < 1.1'`,
		Args: exactly(2, "runs"),
		RunE: abortable(readStore(func(c *cobra.Command, store *result.Store, args []string) error {
			gates, err := parseGates(f.gates)
			if err := errors.Join(err, f.checkUndecided(), f.outputs.check()); err != nil {
				return usageError{err}
			}
			a, errA := mergedRuns(c.Context(), store, args[0])
			b, errB := mergedRuns(c.Context(), store, args[1])
			if err := errors.Join(errA, errB); err != nil {
				return err
			}
			compared := analysis.Compare(a, b, analysis.CompareOptions{Gates: gates, Allow: f.allow})
			if len(compared.Ratios) == 0 {
				return usageError{analysis.Incomparable(compared)}
			}
			if err := f.write(c.OutOrStdout(), compared); err != nil {
				return err
			}
			return f.reportGates(c.ErrOrStderr(), compared)
		})),
	}
	flags := command.Flags()
	flags.StringArrayVar(&f.gates, "gate", nil, "`condition` on the ratio of the second run to the first (repeatable)")
	flags.StringVar(&f.undecided, "undecided", undecidedFails, "fail or pass: what a gate does when rpclab cannot tell, or cannot compare an arm")
	flags.StringSliceVar(&f.allow, "allow", nil, "`path` of a workload or load setting that may differ; also experiment, quick or busy (repeatable)")
	f.outputs.register(flags)
	return command
}

// mergedRuns reads a comma-separated list of runs and merges their trials.
func mergedRuns(ctx context.Context, store *result.Store, refs string) (result.Document, error) {
	var runs []result.Document
	for ref := range strings.SplitSeq(refs, ",") {
		d, err := load(ctx, store, ref)
		if err != nil {
			return d, err
		}
		if slices.ContainsFunc(runs, func(other result.Document) bool { return other.ID == d.ID }) {
			return d, usageError{fmt.Errorf("%s: run %s is listed twice", refs, d.ID)}
		}
		runs = append(runs, d)
	}
	d, err := analysis.MergeRuns(runs)
	if err != nil {
		return d, usageError{err}
	}
	return d, nil
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

// The values of --undecided.
const (
	undecidedFails  = "fail"
	undecidedPasses = "pass"
)

func (f compareFlags) checkUndecided() error {
	if f.undecided != undecidedFails && f.undecided != undecidedPasses {
		return fmt.Errorf("--undecided %s: must be %s or %s", f.undecided, undecidedFails, undecidedPasses)
	}
	return nil
}

func parseGates(texts []string) (all []analysis.Gate, err error) {
	for _, text := range texts {
		gates, err := analysis.ParseGates(text)
		if err != nil {
			return nil, fmt.Errorf("--gate %w", err)
		}
		all = append(all, gates...)
	}
	return all, nil
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
		junit:    func(w io.Writer) error { return report.CompareJUnit(w, shared, f.undecided == undecidedFails) },
	})
}

// reportGates prints a line for each gate that did not pass and a summary, and returns errGate if a
// gate failed.
func (f compareFlags) reportGates(out io.Writer, c result.Comparison) error {
	if len(c.Gates) == 0 {
		return nil
	}
	passed, failed, open := 0, 0, len(c.Refused)
	for _, g := range c.Gates {
		switch g.Outcome {
		case "held":
			passed++
		case "failed":
			failed++
			fmt.Fprintf(out, "rpclab: %s--gate %s failed: the ratio is %.3g (%.3g–%.3g)\n", armPrefix(g.Arm, g.Cell), g.Gate, g.Ratio, g.CI[0], g.CI[1])
		default:
			open++
			fmt.Fprintf(out, "rpclab: %s--gate %s: rpclab could not tell: %s\n", armPrefix(g.Arm, g.Cell), g.Gate, g.Reason)
		}
	}
	for _, r := range c.Refused {
		fmt.Fprintf(out, "rpclab: %sis not compared, so no gate applies: %s\n", armPrefix(r.Arm, r.Cell), r.Reason)
	}
	fails := failed > 0 || open > 0 && f.undecided == undecidedFails
	verdict := "passed"
	switch {
	case failed > 0:
		verdict = "failed"
	case open > 0:
		verdict = "could not tell (--undecided " + f.undecided + ")"
	}
	fmt.Fprintf(out, "rpclab: gates: %s: %d passed, %d failed, %d undecided\n", verdict, passed, failed, open)
	if fails {
		return errGate
	}
	return nil
}
