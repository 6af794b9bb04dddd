package lab

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

// header returns the document before the first trial: the experiment and the machine.
func header(plan experiment.Plan, trials []trial, o Options) result.Document {
	now := time.Now().UTC()
	d := result.Document{
		Schema: result.Schema, ID: cmp.Or(o.ID, result.NewID(now)),
		Experiment: plan.Name, Question: plan.Question, Source: plan.Source,
		Cluster: o.Kind, Started: now, Machine: result.ThisMachine(o.MaxFiles),
		Design: plan.Design, Rounds: plan.Rounds, Margin: plan.Margin, Looks: plan.Looks, Definition: plan.Text, Command: o.Command,
		Seed: plan.Seed, Quick: plan.Quick, Changed: plan.Changed, Baseline: plan.Baseline, Headline: analysis.MetricNames(plan.Headline),
		TimeLimitMS: plan.TimeLimit.Milliseconds(), TrialCount: len(plan.Trials), Size: plan.PublishedSize,
	}
	d.Machine.Kubernetes, d.Machine.Nodes = o.Kubernetes, o.Nodes
	for _, c := range plan.Confounds {
		d.Confounds = append(d.Confounds, result.Confound(c))
	}
	for _, p := range plan.Published {
		d.Published = append(d.Published, result.Published{
			Arm: p.Arm, Cell: p.Cell, ElapsedMS: p.ElapsedMS, Rate: p.Rate, Mean: p.Mean, P95: p.P95, RSS: p.RSS, Note: p.Note,
		})
	}
	first := map[result.ArmKey]int{} // indices of the first trials
	for i := range trials {
		key := trials[i].armKey()
		if _, known := first[key]; !known {
			first[key] = i
		}
	}
	for _, cell := range plan.Cells {
		for _, arm := range plan.Arms {
			i := first[result.ArmKey{Name: arm.Name, Cell: result.Cell(cell).Key()}] // every arm has a trial in every cell
			d.Arms = append(d.Arms, armOf(trials[i], arm, cell))
		}
	}
	return d
}

// armOf returns the arm of a trial in one cell, without trials. Its configuration includes the cell's values.
func armOf(t trial, arm experiment.Arm, cell map[string]any) result.Arm {
	if t.target != nil {
		return t.target.Arm()
	}
	return result.Arm{
		Name: arm.Name, Published: arm.Published != "", Label: arm.Published,
		Control: arm.Control, Against: arm.Against, Describe: arm.Describe,
		Route: t.route.Name, Channel: t.channel, Policy: t.policy,
		PickedBy: string(t.route.PickedBy), Discovery: string(t.route.Discovery), Update: t.route.Update, Tool: t.route.Binary.Name, Untested: t.route.Untested,
		Cell: cell, Config: t.Config.Map(), OwnService: serviceOf(t), Bound: analysis.Bound(t.Config, t.workers),
	}
}

// serviceOf returns what the result has of the user's service that a trial calls; nil: rpclab's own servers.
func serviceOf(t trial) *result.Service {
	if t.user.Name == "" {
		return nil
	}
	server := t.user.Server
	s := result.Service{Calls: map[string]result.ServiceCall{}, TLS: t.user.TLS != nil, Server: result.ServiceServer{
		Command: server.Command, Image: server.Image, Args: server.Args, Deployment: server.Deployment, Service: server.Service, Addresses: server.Addresses,
	}}
	for _, c := range t.job.Calls {
		call := result.ServiceCall{Method: c.Method, From: c.From, Check: c.Check, Metadata: slices.Sorted(maps.Keys(c.Metadata))}
		if c.HTTP != "" {
			call.Method = c.HTTP + " " + c.Path
		}
		if c.Data != "" {
			call.DataHash = result.DataHash(c.Data)
		}
		stream := result.ServiceCallStream{
			Messages: c.Stream.MaxResponses, DurationMS: result.Milliseconds(c.Stream.MaxDuration), Requests: c.Stream.Requests,
			PingPong: c.Stream.PingPong, Empty: !c.Stream.NeedsResponse,
		}
		if stream != (result.ServiceCallStream{}) {
			call.Stream = &stream
		}
		s.Calls[c.Name] = call
	}
	return &s
}
