package lab

import (
	"cmp"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/gateway"
	"rpclab/internal/result"
	"rpclab/internal/route"
)

// header is the document before the first trial: what was asked, and where.
func header(plan experiment.Plan, o Options) result.Document {
	now := time.Now().UTC()
	d := result.Document{
		Schema: result.Schema, ID: cmp.Or(o.ID, result.NewID(now)),
		Experiment: plan.Name, Question: plan.Question, Source: plan.Source,
		Cluster: o.Kind, Started: now, Machine: result.ThisMachine(o.MaxFiles),
		Rounds: plan.Rounds, Margin: plan.Margin, Looks: plan.Looks, Definition: plan.Text, Command: o.Command,
		Seed: plan.Seed, Quick: plan.Quick, Changed: plan.Changed, Baseline: plan.Baseline,
		TrialCount: len(plan.Trials), Size: plan.Size,
	}
	d.Machine.Kubernetes, d.Machine.Nodes = o.Kubernetes, o.Nodes
	for _, c := range plan.Confounds {
		d.Confounds = append(d.Confounds, result.Confound(c))
	}
	for _, p := range plan.Published {
		d.Published = append(d.Published, result.Published{
			Arm: p.Arm, Cell: p.Cell, ElapsedMS: p.ElapsedMS, Rate: p.Rate, P95: p.P95, RSS: p.RSS, Note: p.Note,
		})
	}
	for _, cell := range plan.Cells {
		for _, arm := range plan.Arms {
			d.Arms = append(d.Arms, armOf(plan, arm, cell))
		}
	}
	return d
}

// armOf is an arm in one cell, without trials. Its configuration is that of its
// trials, which has the cell's values.
func armOf(plan experiment.Plan, arm experiment.Arm, cell map[string]any) result.Arm {
	config := arm.Config
	key := result.Cell(cell).Key()
	for _, t := range plan.Trials {
		if t.Arm == arm.Name && result.Cell(t.Cell).Key() == key {
			config = t.Config
			break
		}
	}
	return result.Arm{
		Name: arm.Name, Published: arm.Published != "", Label: arm.Published,
		Control: arm.Control, Against: arm.Against, Describe: arm.Describe,
		Route: config.Route, Channel: channelOf(config), Policy: policyOf(config),
		Cell: cell, Config: config.Map(), Bound: boundOf(config),
	}
}

// policyOf is how calls are spread: as the arm says, or as its route does by itself.
func policyOf(c experiment.Config) string {
	if way, err := route.Lookup(c.Route); err == nil && c.Policy == "" && len(way.Policies) > 0 {
		return way.Policies[0]
	}
	return c.Policy
}

// channelOf is how calls share channels: those of the gateway, where one makes them.
func channelOf(c experiment.Config) string {
	if c.Gateway == nil {
		return c.Caller.Channel.String()
	}
	return cmp.Or(c.Gateway.Channel, gateway.ChannelOf(c.Gateway.Model))
}
