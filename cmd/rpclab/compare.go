package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/internal/lab"
	"rpclab/internal/report"
	"rpclab/internal/result"
)

// compareFlags are what `rpclab compare` can be told.
type compareFlags struct {
	gates   []string
	strict  bool
	allow   []string
	outputs outputs
}

func compareCommand() *cobra.Command {
	var f compareFlags
	command := &cobra.Command{
		Use:   "compare RUN[,RUN...] RUN[,RUN...]",
		Short: "Say what a run shows against an earlier one",
		Long: `Compares a run with an earlier one, arm by arm, the two as independent samples.
The runs were made at different times: what changed in the meantime is in every
ratio, so the machine should be the same. What differs is listed. Of several
runs of the same, such as loads, the trials are taken together. A run can be the
file, NAME.json, that --json made of it.

A gate is such as 'p99 ratio < 1.05', where the ratio is that of the second run
to the first: it fails, and the command ends with code 1, when the whole
interval of the ratio is beyond the bound. Where the interval spans the bound
the gate is not established, which --strict makes a failure too. Gates can be on
` + folded(lab.Gateable()) + `.

An arm whose workload or load differs is not compared, nor any of a --quick run
with one in full, unless --allow names what may differ.`,
		Example: `  rpclab compare 20261119 latest
  rpclab compare before.json latest --gate 'p99 ratio < 1.05' --junit gates.xml
  rpclab compare 20261119 latest --allow workload.greet.delay
  rpclab compare 1A,1C,1E,1G 1B,1D,1F,latest --gate 'p50 ratio < 1.1'`,
		Args: exactly(2, "runs"),
		RunE: withStore(func(c *cobra.Command, store *result.Store, args []string) error {
			gates, err := parseGates(f.gates)
			if err := errors.Join(err, f.outputs.check()); err != nil {
				return usage{err}
			}
			a, errA := together(c.Context(), store, args[0])
			b, errB := together(c.Context(), store, args[1])
			if err := errors.Join(errA, errB); err != nil {
				return err
			}
			compared := lab.Compare(a, b, lab.Across{Gates: gates, Allow: f.allow})
			if len(compared.Ratios) == 0 {
				return usage{lab.Incomparable(compared)}
			}
			if err := f.write(c.OutOrStdout(), compared); err != nil {
				return err
			}
			return f.hold(c.ErrOrStderr(), compared)
		}),
	}
	flags := command.Flags()
	flags.StringArrayVar(&f.gates, "gate", nil, "`condition` on the ratio of the second run to the first, as often as needed")
	flags.BoolVar(&f.strict, "strict", false, "end with code 1 when a gate is not established, or an arm not compared")
	flags.StringSliceVar(&f.allow, "allow", nil, "`path` of a setting of workload or load that may differ; experiment and quick are such, too")
	f.outputs.register(flags)
	return command
}

// together reads the runs of a list as one.
func together(ctx context.Context, store *result.Store, refs string) (result.Document, error) {
	var runs []result.Document
	for ref := range strings.SplitSeq(refs, ",") {
		d, err := load(ctx, store, ref)
		if err != nil {
			return d, err
		}
		if slices.ContainsFunc(runs, func(other result.Document) bool { return other.ID == d.ID }) {
			return d, usage{fmt.Errorf("%s: run %s is in it twice; its trials count once", refs, d.ID)}
		}
		runs = append(runs, d)
	}
	d, err := lab.Together(runs)
	if err != nil {
		return d, usage{err}
	}
	return d, nil
}

// folded are words in lines of 80 columns at most, with room for a full stop.
func folded(words []string) string {
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

func parseGates(texts []string) (all []lab.Gate, err error) {
	for _, text := range texts {
		g, err := lab.ParseGate(text)
		if err != nil {
			return nil, fmt.Errorf("--gate %w", err)
		}
		all = append(all, g)
	}
	return all, nil
}

func (f compareFlags) write(out io.Writer, c result.Comparison) error {
	return f.outputs.draw(out, drawings{
		terminal: func(w io.Writer) error { return report.Compare(w, c, terminal(w)) },
		json:     func(w io.Writer) error { return result.WriteComparison(w, c) },
		md:       func(w io.Writer) error { return report.CompareMarkdown(w, c) },
		junit:    func(w io.Writer) error { return report.CompareJUnit(w, c, f.strict) },
	})
}

// hold says which gates do not hold and ends the command if one fails.
func (f compareFlags) hold(out io.Writer, c result.Comparison) error {
	failed := false
	for _, g := range c.Gates {
		switch g.Outcome {
		case "held":
		case "failed":
			failed = true
			fmt.Fprintf(out, "rpclab: %s--gate %s: it is %.3g (%.3g–%.3g)\n", armPlace(g.Arm, g.Cell), g.Gate, g.Ratio, g.CI[0], g.CI[1])
		default:
			failed = failed || f.strict
			fmt.Fprintf(out, "rpclab: %s--gate %s: %s: %s\n", armPlace(g.Arm, g.Cell), g.Gate, g.Outcome, g.Reason)
		}
	}
	if len(c.Gates) > 0 {
		for _, r := range c.Refused {
			failed = failed || f.strict
			fmt.Fprintf(out, "rpclab: %snot compared, so no gate is on it: %s\n", armPlace(r.Arm, r.Cell), r.Reason)
		}
	}
	if failed {
		return errGate
	}
	return nil
}
