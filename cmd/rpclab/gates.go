package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/report"
	"rpclab/internal/result"
	"rpclab/internal/suggest"
)

// gateFlags are conditions on the ratio of a run to an earlier run.
type gateFlags struct {
	texts     []string
	undecided string
	allow     []string
}

// The values of --undecided.
const (
	undecidedFails  = "fail"
	undecidedPasses = "pass"
)

func (f *gateFlags) register(flags *pflag.FlagSet, ratio string) {
	flags.StringArrayVar(&f.texts, "gate", nil, "`condition` on the ratio of "+ratio+" (repeatable)")
	flags.StringVar(&f.undecided, "undecided", undecidedFails, "fail or pass: the outcome of a gate that rpclab cannot tell, or of an arm that it cannot compare")
	flags.StringSliceVar(&f.allow, "allow", nil, "`path` of a workload or load setting that may differ between the runs; also experiment, events, quick or busy (repeatable)")
}

// parse returns the gates if the flags are right.
func (f gateFlags) parse() (all []analysis.Gate, err error) {
	for _, text := range f.texts {
		gates, err := analysis.ParseGates(text)
		if err != nil {
			return nil, fmt.Errorf("--gate %w", err)
		}
		all = append(all, gates...)
	}
	for _, path := range f.allow {
		root, _, _ := strings.Cut(path, ".")
		if known := analysis.MayBeAllowed(); !slices.Contains(known, root) {
			return nil, fmt.Errorf("--allow %s: this forbids no comparison%s", path, suggest.DidYouMean(root, known))
		}
	}
	if f.undecided != undecidedFails && f.undecided != undecidedPasses {
		return nil, fmt.Errorf("--undecided %s: must be %s or %s", f.undecided, undecidedFails, undecidedPasses)
	}
	return all, nil
}

// The values of --against that name no run.
const (
	againstLast     = "last"     // the last run that did not fail
	againstBaseline = "baseline" // the baseline of the same run
)

// runGates compare a run with an earlier run, or its arms with their baseline, after it has ended.
type runGates struct {
	gateFlags
	against string

	gates   []analysis.Gate
	earlier *result.Document // nil: there is none yet
}

func (g *runGates) register(flags *pflag.FlagSet) {
	g.gateFlags.register(flags, "this run to an earlier run, or of its arms to their baseline")
	flags.StringVar(&g.against, "against", againstLast, "`run` (ID or file) with which --gate compares: last is the last good one of the same experiment in the store: complete, and no gate or assertion failed; baseline compares the arms of this run with their baseline")
}

// check checks the flags of a run whose results are stored or not. given reports whether the command line sets a flag.
func (g *runGates) check(given func(string) bool, stored bool) (err error) {
	for _, name := range []string{"against", "undecided", "allow"} {
		if given(name) && len(g.texts) == 0 {
			return fmt.Errorf("--%s is for gates: add --gate, such as --gate 'p99 ratio < 1.1'", name)
		}
	}
	if len(g.texts) > 0 && g.against == againstLast && !stored {
		return errors.New("--gate compares with the last stored run: leave out --no-store, or name a file with --against")
	}
	if g.against == againstBaseline && given("allow") {
		return errors.New("--allow is for two runs: --against baseline compares arms of one run")
	}
	g.gates, err = g.parse()
	return err
}

// checkArms returns an error if gates compare arms with a baseline and a run has no other arm.
func (g *runGates) checkArms(arms []experiment.Arm) error {
	isControl := func(a experiment.Arm) bool { return a.Control != "" }
	if len(g.gates) > 0 && g.against == againstBaseline && len(slices.DeleteFunc(slices.Clone(arms), isControl)) < 2 {
		return errors.New("--against baseline compares other arms with the baseline: this run has no other arm, or only controls")
	}
	return nil
}

// settled returns what ends a run until decided in place of its verdicts: each gate on some arms in a cell (without arms:
// on all) passed or failed, or more rounds cannot tell. It is nil without gates, or if they compare with an earlier run.
func (g *runGates) settled() func(result.Document, result.Cell, []string) bool {
	if len(g.gates) == 0 || g.against != againstBaseline {
		return nil
	}
	return func(d result.Document, cell result.Cell, arms []string) bool {
		return analysis.GatesSettledIn(d, g.gates, cell, arms)
	}
}

// open reads the earlier run, before the run of a plan is stored.
func (g *runGates) open(ctx context.Context, plan lab.Plan, cluster string) (err error) {
	if len(g.gates) == 0 || g.against == againstBaseline {
		return nil
	}
	var runs storedRuns
	defer func() { err = errors.Join(err, runs.close()) }()
	if g.against != againstLast {
		d, err := runs.load(ctx, g.against)
		g.earlier = &d
		return err
	}
	store, err := runs.store()
	if err != nil {
		return err
	}
	id, err := store.LastGood(ctx, plan.Header(cluster))
	if err != nil || id == "" {
		return err
	}
	d, _, err := store.Get(ctx, id)
	g.earlier = &d
	return err
}

// test tests the gates; without gates, or without a run to compare with, the comparison is empty.
func (g *runGates) test(d result.Document) result.Comparison {
	switch {
	case len(g.gates) == 0:
		return result.Comparison{}
	case g.against == againstBaseline:
		return result.Comparison{Gates: analysis.GateArms(d, g.gates)}
	case g.earlier == nil:
		return result.Comparison{}
	}
	return analysis.Compare(*g.earlier, d, analysis.CompareOptions{Gates: g.gates, Allow: g.allow})
}

// report prints what the gates have shown, and returns errGate if one failed.
func (g *runGates) report(out io.Writer, d result.Document, tested result.Comparison) error {
	switch {
	case len(g.gates) == 0:
		return nil
	case g.against == againstBaseline:
	case g.earlier == nil:
		kind := "without --quick"
		if d.Quick {
			kind = "with --quick"
		}
		fmt.Fprintf(out, "rpclab: gates: nothing to compare: the store has no earlier run of %s %s that did not fail (on %s, with calls, and with no arm that this run lacks)\n", report.Clean(d.Experiment), kind, cmp.Or(d.Cluster, "local"))
		return nil
	default:
		fmt.Fprintf(out, "rpclab: comparing with run %s of %s\n", g.earlier.ID, g.earlier.Started.Local().Format(time.DateTime))
		for _, text := range append(report.DisturbsComparison(tested.Warnings, tested.Differences), report.OtherSettings(tested.Differences)...) {
			fmt.Fprintf(out, "rpclab: warning: %s (A is run %s)\n", text, g.earlier.ID)
		}
	}
	err := g.reportGates(out, tested)
	if err != nil && g.against == againstLast {
		fmt.Fprintf(out, "rpclab: the next run is compared with run %s too, unless 'rpclab runs accept %s' accepts this one\n", g.earlier.ID, d.ID)
	}
	return err
}

// reportConditions prints the assertions and gates that failed, and returns errGate if one did.
func (g *runGates) reportConditions(out io.Writer, d result.Document, tested result.Comparison) error {
	if err := errors.Join(reportFailures(out, d.Assertions, len(d.Arms)), g.report(out, d, tested)); err != nil || !isLoad(d) {
		return err
	}
	return reportNoRate(out, d.Arms[0])
}

// addTo adds what the gates have shown to a result with its assertions, and whether they and the gates passed.
func (g *runGates) addTo(d result.Document, tested result.Comparison) result.Document {
	if len(g.gates) > 0 {
		d.Gates = &result.Gates{Results: tested.Gates, Refused: tested.Refused, Differences: tested.Differences, Warnings: tested.Warnings, Undecided: g.undecided}
		switch {
		case g.against == againstBaseline:
			d.Gates.Against = againstBaseline
		case g.earlier != nil:
			d.Gates.Against = g.earlier.ID
		}
	}
	hasConditions := len(d.Assertions)+len(g.gates) > 0
	switch err := g.reportConditions(io.Discard, d, tested); {
	case errors.Is(err, errGate), hasConditions && !hasCalls(d): // gates would compare the next run with nothing
		d.Conditions = result.ConditionsFailed
	case hasConditions:
		d.Conditions = result.ConditionsPassed
	}
	return d
}

// hasCalls reports whether any call of a run was due.
func hasCalls(d result.Document) bool {
	return slices.ContainsFunc(d.Arms, func(a result.Arm) bool { return a.Calls+a.Dropped > 0 })
}

// whyNone says why a run without calls has none: the reason of the first arm.
func whyNone(d result.Document) string {
	for _, arm := range d.Arms {
		for _, failed := range arm.FailedTrials() {
			return arm.Name + ": " + failed.Reason
		}
	}
	return "the report says why"
}

// trialsOf are the trials of all arms.
func trialsOf(d result.Document) (all []result.Trial) {
	for _, arm := range d.Arms {
		all = append(all, arm.Trials...)
	}
	return all
}

// covered says what of a run that an interrupt ended is in its result, and if that is nothing, what did not end.
func covered(d result.Document) (covers, missing string) {
	missing = "no call was measured"
	cut := false // the last round
	for _, t := range trialsOf(d) {
		switch {
		case t.Capacity != nil && len(t.Capacity.Probes) > 0:
			covers = cmp.Or(covers, "the probes that ended")
		case t.Capacity != nil:
			missing = "no probe had ended"
		case t.Failed != "":
			cut, missing = true, "no round had ended"
		}
	}
	switch {
	case hasCalls(d) && cut:
		covers = "the rounds that ended"
	case hasCalls(d):
		covers = "the calls made so far"
	}
	return covers, missing
}

// reportGates prints a line for each gate that did not pass and a summary, and returns errGate if a
// gate failed.
func (f gateFlags) reportGates(out io.Writer, c result.Comparison) error {
	if len(f.texts) == 0 {
		return nil
	}
	passed, failed, open := 0, 0, len(c.Refused)
	for _, g := range c.Gates {
		switch g.Outcome {
		case "held":
			passed++
		case "failed":
			failed++
			fmt.Fprintf(out, "rpclab: %s--gate %s failed: the ratio is %s (%s–%s)\n", armPrefix(g.Arm, g.Cell), g.Gate, report.Ratio(g.Ratio), report.Ratio(g.CI[0]), report.Ratio(g.CI[1]))
		default:
			open++
			fmt.Fprintf(out, "rpclab: %s--gate %s: rpclab could not tell: %s\n", armPrefix(g.Arm, g.Cell), g.Gate, report.Clean(g.Reason))
		}
	}
	for _, r := range c.Refused {
		fmt.Fprintf(out, "rpclab: %sis not compared, so no gate applies: %s\n", armPrefix(r.Arm, r.Cell), report.Clean(r.Reason))
	}
	if passed+failed+open == 0 { // a gate that shows nothing must not be green
		open++
		fmt.Fprintln(out, "rpclab: gates: rpclab could not tell: no two arms were compared")
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
