package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"rpclab/internal/analysis"
	"rpclab/internal/lab"
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
	command, pilot string // the commands of the run, and of a short run that measures its noise
}

// show prints what a run will do, and starts nothing.
func (f planner) show(c *cobra.Command, plan lab.Plan) error {
	planned := plan.Needs(result.Plan{
		Schema: result.PlanSchema, Experiment: plan.Name, Question: plan.Question, Design: plan.Design,
		Command: f.command, Pilot: f.pilot, Cells: len(plan.Cells), TimeLimitMS: plan.TimeLimit.Milliseconds(),
	})
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
	planned = analysis.Foresee(planned, earlier)
	return f.outputs.render(c.OutOrStdout(), renderings{
		terminal: func(w io.Writer) error { return report.Plan(w, planned, terminalOptions(w)) },
		json: func(w io.Writer) error {
			out := json.NewEncoder(w)
			out.SetIndent("", "  ")
			return out.Encode(planned)
		},
	})
}

func plannedRun(plan lab.Plan, rounds int) result.PlannedRun {
	return result.PlannedRun{
		Rounds: rounds, Trials: rounds * len(plan.Trials) / max(plan.Rounds, 1), LoadMS: result.Milliseconds(plan.LoadTime(rounds)),
	}
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
	for _, quick := range []bool{plan.Quick, !plan.Quick} {
		for _, run := range runs {
			if run.Quick != quick {
				continue
			}
			if run.Trials == 0 { // stored by an older rpclab
				d, _, err := store.Get(ctx, run.ID)
				if err != nil {
					return nil, err
				}
				run = analysis.Earlier(d)
			}
			if cmp.Or(run.Cluster, "local") != f.on || run.CPUs != here.CPUs || run.Model != here.Model {
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
