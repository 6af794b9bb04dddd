package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/analysis"
	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/report"
	"rpclab/internal/result"
)

// earlierRuns is how many stored runs a plan uses.
const earlierRuns = 3

// planner describes runs on a cluster before they start.
type planner struct {
	on             string // the cluster
	keeping        storeFlags
	outputs        outputs
	machine        machineFlags
	command, quick string                                // the commands of the run, and of a short run that measures its noise
	pilot          func(arms []string) (lab.Plan, error) // the pilot of two arms; nil: it was not asked for
}

// show prints what a run will do. It starts nothing except a pilot.
func (f planner) show(c *cobra.Command, plan lab.Plan) error {
	var groups *result.Groups
	if f.on == "local" {
		files, err := process.RaiseFileLimit()
		if err != nil {
			return err
		}
		if plan, groups, err = plan.Fit(measure.FreeMemory(), files); err != nil {
			return err
		}
	}
	planned := plan.Needs(result.Plan{
		Schema: result.PlanSchema, Experiment: plan.Name, Question: plan.Question, Design: plan.Design, On: f.on,
		Command: f.command, Pilot: f.quick, Cells: len(plan.Cells), TimeLimitMS: plan.TimeLimit.Milliseconds(), Groups: groups,
		Looks: plan.Looks, Margin: plan.Margin,
	})
	if f.on != "local" {
		planned.Missing, planned.Unavailable = []string{}, nil
	}
	for _, live := range disruptions(plan.Plan) {
		planned.Disrupts = append(planned.Disrupts, result.Disrupted{Service: live.Service, Events: live.Events})
	}
	for _, a := range plan.Arms {
		planned.Arms = append(planned.Arms, a.Name)
	}
	first := plan.Rounds
	if len(plan.Looks) > 0 {
		first = plan.Looks[0]
	}
	planned.Fewest, planned.Most = plannedRun(plan, first), plannedRun(plan, plan.Rounds)
	earlier, err := f.earlier(c.Context(), plan)
	if err != nil {
		return err
	}
	for _, run := range earlier {
		planned.Scaled = planned.Scaled || run.Quick != plan.Quick
	}
	if len(earlier) == 0 && f.pilot != nil {
		d, err := f.runPilot(c, plan)
		if err != nil {
			return err
		}
		measured := analysis.Earlier(d)
		measured.ID, measured.Memory = "", nil // it is not stored, and has two arms
		earlier, planned.PilotMS, planned.Scaled = append(earlier, measured), measured.TookMS, true
	}
	planned = analysis.Foresee(planned, earlier)
	return f.outputs.render(c.OutOrStdout(), renderings{
		terminal: func(w io.Writer) error { return report.Plan(w, planned, f.outputs.terminal(w)) },
		json: func(w io.Writer) error {
			out := json.NewEncoder(w)
			out.SetIndent("", "  ")
			return out.Encode(planned)
		},
	})
}

// shortRun returns the command of a --quick run with enough rounds to show its noise, on a cluster; "": its trials have too
// few calls.
func shortRun(file string, doc []byte, o experiment.Options, name, cluster string) (string, error) {
	o.Quick, o.Rounds, o.UntilDecided, o.MaxRounds, o.For = true, 0, false, 0, 0
	plan, err := experiment.Expand(file, doc, o, lab.Vocabulary())
	if fewest := experiment.FewestRounds(plan.Design); plan.Rounds < fewest {
		o.Rounds = fewest
	}
	if err != nil {
		return "", err
	}
	resolved, err := lab.Resolve(plan)
	if err != nil {
		return "", err
	}
	if needs := resolved.Needs(result.Plan{}); len(needs.TooFewCalls) > 0 && needs.ShowsNoNoise() {
		return "", nil
	}
	return o.Command(name) + cluster, nil
}

// pilotLimit is the time after which a pilot begins no further round.
const pilotLimit = 20 * time.Second

// pilotPlan is the plan of a pilot of some arms: a --quick run with still shorter loads.
func pilotPlan(file string, doc []byte, o experiment.Options, arms []string) (plan lab.Plan, err error) {
	expanded, err := experiment.Expand(file, doc, experiment.Options{Quick: true, Pilot: true, Set: o.Set, Arms: arms, Service: o.Service, Call: o.Call, Mix: o.Mix, Flow: o.Flow, Seed: o.Seed, AllowDisruption: o.AllowDisruption}, lab.Vocabulary())
	if err != nil {
		return plan, usageError{err}
	}
	expanded.TimeLimit = pilotLimit
	return lab.Resolve(expanded)
}

// runPilot measures the baseline and one other arm of a plan, and stores nothing.
func (f planner) runPilot(c *cobra.Command, plan lab.Plan) (d result.Document, err error) {
	other := slices.IndexFunc(plan.Arms, func(a experiment.Arm) bool {
		return a.Name != plan.Baseline && a.Control == "" && cmp.Or(a.Against, plan.Baseline) == plan.Baseline
	})
	if other < 0 {
		return d, usageError{errors.New("--pilot: the plan compares no arm with the baseline; leave out --pilot")}
	}
	pilot, err := f.pilot([]string{plan.Baseline, plan.Arms[other].Name})
	if err != nil {
		return d, err
	}
	needs := pilot.Needs(result.Plan{})
	fmt.Fprintf(c.ErrOrStderr(), "rpclab: the pilot measures %s and %s in %d rounds, with about %d processes at a time\n",
		plan.Baseline, plan.Arms[other].Name, pilot.Rounds, needs.Processes)
	bar := newProgress(c.ErrOrStderr(), progressFlags{})
	defer bar.end()
	return conductLocal(c.Context(), c.ErrOrStderr(), pilot, lab.Options{Kind: f.on, Progress: bar.show}, f.machine)
}

func plannedRun(plan lab.Plan, rounds int) result.PlannedRun {
	return result.PlannedRun{Rounds: rounds, Trials: rounds * len(plan.Trials) / max(plan.Rounds, 1)}
}

// earlier returns the last stored runs of the experiment on this machine: those that --quick scaled down, or
// did not, as the plan says; else the others.
func (f planner) earlier(ctx context.Context, plan lab.Plan) (same []result.Earlier, err error) {
	if f.keeping.noStore {
		return nil, nil
	}
	store, err := openStore(result.OpenStoreToRead)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	runs, err := store.Earlier(ctx, plan.Name)
	if err != nil {
		return nil, err
	}
	here := result.ThisMachine(0)
	elsewhere := func(run result.Earlier) bool {
		return cmp.Or(run.Cluster, "local") != f.on || run.CPUs != here.CPUs || run.Model != here.Model
	}
	for _, quick := range []bool{plan.Quick, !plan.Quick} {
		for _, run := range runs {
			if run.Quick != quick || run.Trials > 0 && elsewhere(run) {
				continue
			}
			if run.Design == "" { // stored by an older rpclab
				d, _, err := store.Get(ctx, run.ID)
				if err != nil {
					return nil, err
				}
				run = analysis.Earlier(d)
			}
			if run.Design != plan.Design || elsewhere(run) {
				continue
			}
			if same = append(same, run); len(same) == earlierRuns {
				return same, nil
			}
		}
		if len(same) > 0 {
			break
		}
	}
	return same, nil
}

// clusterOf and conditionsOf are what the command of a run has besides its [experiment.Options]: the flags that select
// the cluster, and those that decide its outcome. Without gates, the number of rounds would not be fixed.
func clusterOf(flags *pflag.FlagSet) string {
	on, flag := "", flags.Lookup("on")
	if kind := flag.Value.String(); kind != "local" || flag.DefValue != "local" { // the plugin has another default
		on = " --on " + kind
	}
	return on + repeated(flags, "kubeconfig", "context", "image", "load-image")
}

func conditionsOf(flags *pflag.FlagSet) string {
	return repeated(flags, "gate", "against", "undecided", "allow", "assert")
}

// repeated returns these flags as the command line sets them; a space is before each.
func repeated(flags *pflag.FlagSet, names ...string) (text string) {
	for _, name := range names {
		if !onCommandLine(flags)(name) {
			continue
		}
		value := flags.Lookup(name).Value
		values := []string{value.String()}
		if several, ok := value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		for _, value := range values {
			text += " " + experiment.CommandLine("--"+name, value)
		}
	}
	return text
}

// disruptions are the events on Services that run already.
func disruptions(plan experiment.Plan) (all []kubernetes.Disruption) {
	for _, s := range plan.Services {
		if s.Server.Service == "" {
			continue
		}
		d := kubernetes.Disruption{Service: s.Server.Service}
		var texts []string
		for _, e := range plan.Trials[0].Events { // those of all trials
			if action, _ := e.Action(); slices.Contains([]string{"kill", "roll", "scale"}, action) {
				d.Actions, texts = append(d.Actions, action), append(texts, e.String())
			}
		}
		if d.Events = strings.Join(texts, ", "); len(texts) > 0 {
			all = append(all, d)
		}
	}
	return all
}
