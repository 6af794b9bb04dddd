package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	generator "rpclab/internal/load"
	"rpclab/internal/result"
)

// runFlags are the flags of `rpclab run`.
type runFlags struct {
	experiment.Options
	on        string
	where     kubernetes.ClientConfig
	images    imageSource
	service   string // file
	until     string
	planOnly  bool
	pilot     bool
	keeping   storeFlags
	machine   machineFlags
	asserts   []string
	gates     runGates
	outputs   outputs
	progress  progressFlags
	live      pageFlags
	telemetry telemetryFlags
}

func runCommand() *cobra.Command {
	var f runFlags
	command := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Run an experiment and report which differences are real",
		Long: `Runs a built-in experiment (see 'rpclab list') or one from a YAML file. An
experiment compares arms: each is a server, a route and a client with their
settings. A round measures every arm once for each value of the sweep. rpclab
starts the servers as processes on this machine, or as pods of a Kubernetes
cluster. With --service, the arms call your service.

A run ends when every headline verdict is decided: after the experiment's number
of rounds at the earliest, and twice that number at the latest. --for 2m limits
the time instead. --rounds N, --quick and --gate fix the number of rounds; fix
it for runs that you compare with 'rpclab compare'. A --quick run of over 4
rounds begins none after about 25 s. The number is also fixed for isolated
experiments of fewer than 4 rounds, which have no verdicts.

With --gate rpclab compares the run with the last good one of the same
experiment in the store, as 'rpclab compare' does, and the exit code is 1 if a
gate fails. A run of which a gate or assertion failed is not good until 'rpclab
runs accept' accepts it. Once a run has passed its gates, one without gates is
good only if its arms have the settings of this run. The first run has nothing
to compare with and passes.
With --against baseline rpclab compares the arms of this run with their
baseline. Gates fix the number of rounds. With --for, such a run continues until
each gate has passed or failed, or more rounds cannot tell.

A run on this machine first waits until no other run or load of yours uses it.
With --no-wait it starts at once, and the results of both say so.`,
		Example: `  rpclab run channels --quick
  rpclab run channels --arms shared,endpointslice --set load.burst=500
  rpclab run channels --for 2m
  rpclab run channels --plan
  rpclab run channels --plan --pilot
  rpclab run ./mine.yaml --rounds 10 --json out.json --md out.md
  rpclab run ./mine.yaml --gate 'p99 ratio < 1.1'
  rpclab run ./versions.yaml --gate 'p50 ratio < 1.1' --against baseline
  rpclab run churn --service orders.yaml
  rpclab run channels --service orders.yaml --mix get=80%,list=20%
  rpclab run channels --service orders.yaml --flow login,get
  rpclab run channels --on kubernetes`,
		Args: oneExperiment,
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("seed") {
				f.Seed = rand.Uint64N(1 << 32)
			}
			return runExperiment(c, args[0], f)
		},
		ValidArgsFunction: completeExperiments,
	}
	flags := command.Flags()
	flags.StringVar(&f.on, "on", "local", "`cluster` to run on: local or kubernetes")
	registerKubernetes(flags, &f.where)
	f.images.register(flags)
	flags.StringVar(&f.service, "service", "", "`file` of your own service, which all arms call in place of rpclab's servers")
	flags.StringVar(&f.Call, "call", "", "`name` of the call in the service file (default: the first)")
	mixFlag(flags, &f.Mix, "make several calls of the service file, each with its `share` of the load, such as get=80%,list=20%")
	flags.StringSliceVar(&f.Flow, "flow", nil, "make several `calls` of the service file in this order, such as login,get")
	flags.BoolVar(&f.AllowDisruption, "allow-disruption", false, "permit the events kill, roll and scale on the pods behind server.service of a service file")
	flags.StringSliceVar(&f.Arms, "arms", nil, "run only these arms, comma-separated")
	flags.StringArrayVar(&f.Set, "set", nil, "override a field, `path=value` (repeatable)")
	flags.IntVar(&f.Rounds, "rounds", 0, "fixed `number` of rounds, each of which measures every arm once (default: those of the experiment, and more until the verdicts are decided)")
	flags.StringVar(&f.until, "until", "", "`decided`: end when every headline verdict is decided (default without --quick, --rounds and --gate)")
	flags.DurationVar(&f.For, "for", 0, "`time` limit, such as 2m, in place of a number of rounds: begin no round that would end later")
	flags.IntVar(&f.MaxRounds, "max-rounds", 0, "maximum `number` of rounds of a run until decided (default: twice those of the experiment, or as many as --for allows)")
	flags.BoolVar(&f.planOnly, "plan", false, "start nothing, and print how long the run takes, what it starts and which differences it detects")
	flags.BoolVar(&f.pilot, "pilot", false, "with --plan: if no run of the experiment on this machine is stored, measure two of its arms for about 5 s")
	flags.Uint64Var(&f.Seed, "seed", 0, "`seed` of all random choices of the plan (default: random, and printed)")
	flags.BoolVar(&f.Quick, "quick", false, "run the whole experiment, scaled down")
	flags.Float64Var(&f.Scale, "scale", 0, "`fraction` of the load of the published study: 1 is its full load (default: as the experiment says)")
	f.keeping.register(flags)
	f.machine.register(flags)
	flags.StringArrayVar(&f.asserts, "assert", nil, "`condition` that every arm must meet, such as 'p99 < 50ms' or 'errors == 0' (repeatable)")
	f.gates.register(flags)
	f.outputs.register(flags)
	f.outputs.registerRun(flags)
	f.progress.register(flags)
	f.progress.registerVerbose(flags)
	f.live.register(flags)
	f.telemetry.register(flags)
	return command
}

func runExperiment(c *cobra.Command, name string, f runFlags) error {
	given := onCommandLine(c.Flags())
	if err := checkCluster(f.on, given); err != nil {
		return usageError{err}
	}
	if c.Flags().Changed("rounds") && f.Rounds < 1 {
		return usageError{fmt.Errorf("--rounds %d: use 1 or more; a verdict on isolated arms needs 4", f.Rounds)}
	}
	if c.Flags().Changed("arms") && len(f.Arms) == 0 {
		return usageError{errors.New("--arms names no arm: name arms, comma-separated, or leave it out to run all")}
	}
	if c.Flags().Changed("scale") && f.Scale <= 0 {
		return usageError{fmt.Errorf("--scale %v: the scale must be more than 0; 1 is the load of the published study", f.Scale)}
	}
	if given("listen") && !f.live.web {
		return usageError{errListenWithoutWeb}
	}
	if err := errors.Join(f.progress.check(), f.checkUntil(c.Flags().Changed), f.gates.check(given, !f.keeping.noStore)); err != nil {
		return usageError{err}
	}
	file, doc, err := openExperiment(name)
	if err := errors.Join(err, f.openService(given)); err != nil {
		return usageError{err}
	}
	plan, err := f.plan(file, doc)
	if err != nil {
		return usageError{err}
	}
	if f.planOnly && slices.ContainsFunc([]string{"html", "md", "csv", "junit", "otlp", "remote-write", "metrics", "web"}, given) {
		return usageError{errors.New("--plan starts nothing: leave out --html, --md, --csv, --junit, --otlp, --remote-write, --metrics and --web; --json writes the plan")}
	}
	if f.pilot && given("pilot") && !f.planOnly {
		return usageError{errors.New("--pilot measures the noise of this machine for a plan: add --plan")}
	}
	if f.pilot && given("pilot") && f.on != "local" {
		return usageError{errors.New("--pilot measures the noise of this machine, and not of Kubernetes: add --on local")}
	}
	rest := clusterOf(c.Flags()) + conditionsOf(c.Flags())
	if f.planOnly {
		f.outputs, f.live = f.outputs.forPlan(given("json")), pageFlags{} // defaults are for runs
		_, err := parseAssertions(f.asserts, plan.HasOwnClient())
		if err := errors.Join(err, f.outputs.check(), f.live.check(), f.gates.checkArms(plan.Arms), os.Unsetenv(remoteWriteHeaders)); err != nil {
			return usageError{err}
		}
		quick, err := shortRun(file, doc, f.Options, name, clusterOf(c.Flags()))
		if err != nil {
			return usageError{err}
		}
		p := planner{on: f.on, keeping: f.keeping, outputs: f.outputs, machine: f.machine, command: f.Options.Command(name) + rest, quick: quick}
		if f.pilot && f.on == "local" {
			p.pilot = func(arms []string) (lab.Plan, error) { return pilotPlan(file, doc, f.Options, arms) }
		}
		return p.show(c, plan)
	}
	return f.runAndReport(c, plan, f.Options.Command(name)+rest)
}

// runAndReport runs a plan, writes its result and checks the assertions. commandLine repeats the run.
func (f runFlags) runAndReport(c *cobra.Command, plan lab.Plan, commandLine string) error {
	if f.on == "local" && plan.DropsPackets() {
		f.live = f.live.unreachable(c.ErrOrStderr())
	}
	assertions, err := parseAssertions(f.asserts, plan.HasOwnClient())
	if err := errors.Join(err, f.outputs.check(), f.live.check(), f.telemetry.check()); err != nil {
		return usageError{err}
	}
	if err := f.gates.checkArms(plan.Arms); err != nil {
		return usageError{err}
	}
	f.machine.entered = func() error { return f.gates.open(c.Context(), plan, f.on) }
	if err := f.machine.entered(); err != nil { // before the wait for other runs too, which may be long
		return err
	}
	var tested result.Comparison
	document, err := f.runAndShow(c, plan, commandLine, func(d result.Document) result.Document {
		d.Assertions, tested = checkArms(assertions, d.Arms), f.gates.test(d)
		return f.gates.addTo(d, tested)
	})
	if errors.Is(err, lab.ErrService) {
		return usageError{experiment.InDocument(err)}
	}
	if document.ID == "" {
		return err
	}
	document.Assertions = checkArms(assertions, document.Arms) // also of a run that ended early
	called := hasCalls(document)
	covers, missing := covered(document)
	empty := covers == "" && errors.Is(err, context.Canceled)
	if files := f.outputs.files(); empty && len(files) > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "rpclab: %s before the interrupt, so rpclab does not write %s\n", missing, strings.Join(files, ", "))
		f.outputs = f.outputs.withoutFiles()
	}
	written := f.outputs.write(c, document)
	if written == nil && !empty && !f.keeping.noStore && !f.progress.quiet && !errors.Is(err, result.ErrStore) {
		printReportHint(c, f.outputs, document, document.ID)
	}
	if errors.Is(err, context.Canceled) && isLoad(document) && covers != "" {
		err = errors.Join(fmt.Errorf("%w; the result covers %s", context.Canceled, covers), withoutInterrupt(err))
	}
	var failed error
	if !document.Partial { // else the gates were not tested
		failed = f.gates.reportConditions(c.ErrOrStderr(), document, tested)
	}
	if err := cmp.Or(errors.Join(err, written), failed); err != nil || called {
		return err
	}
	return fmt.Errorf("no call was measured: %s", whyNone(document))
}

// openService reads the service file, if there is one. Without it, defaults for calls of a service do not apply.
func (f *runFlags) openService(given func(flag string) bool) error {
	if f.service == "" {
		switch {
		case f.Call != "" && given("call"):
			return fmt.Errorf("--call %s is a call of a service file: add --service FILE", f.Call)
		case len(f.Mix) > 0 && given("mix"):
			return errors.New("--mix names calls of a service file: add --service FILE")
		case len(f.Flow) > 0 && given("flow"):
			return errors.New("--flow names calls of a service file: add --service FILE")
		}
		f.Call, f.Mix, f.Flow = "", nil, nil
		return nil
	}
	if err := f.CheckCalls(); err != nil {
		return err
	}
	text, err := os.ReadFile(f.service)
	if err != nil {
		return fmt.Errorf("cannot read the service file: %w; write one with rpclab init HOST:PORT", err)
	}
	f.Service = &experiment.ServiceDocument{File: f.service, Text: text, On: f.on}
	return nil
}

// plan returns the plan of an experiment if the cluster can run it.
func (f *runFlags) plan(file string, doc []byte) (plan lab.Plan, err error) {
	if f.UntilDecided, err = f.untilDecided(file, doc); err != nil {
		return plan, err
	}
	f.On = f.on
	expanded, err := experiment.Expand(file, doc, f.Options, lab.Vocabulary())
	if err != nil {
		return plan, err
	}
	if plan, err = lab.Resolve(expanded); err != nil {
		return plan, err
	}
	return plan, plan.CheckCluster(f.on)
}

// The bounds of --for.
const (
	shortestRun = time.Second
	longestRun  = 24 * time.Hour
)

// checkUntil checks the flags that say when a run ends.
func (f *runFlags) checkUntil(changed func(string) bool) error {
	limited := changed("for")
	switch {
	case f.until != "" && f.until != "decided":
		return fmt.Errorf("--until %s: the only value is decided; --rounds N ends a run after N rounds", f.until)
	case limited && (f.For < shortestRun || f.For > longestRun):
		return fmt.Errorf("--for %s: use a time from %s to %s, such as 2m", f.For, shortestRun, "24h")
	case limited && f.Rounds > 0:
		return fmt.Errorf("--for %s and --rounds %d exclude each other: --rounds fixes the number of rounds; use one of them", f.For, f.Rounds)
	case changed("max-rounds") && f.MaxRounds < 1:
		return fmt.Errorf("--max-rounds %d: a verdict needs at least 4 rounds", f.MaxRounds)
	case changed("max-rounds") && f.until == "" && !limited && f.Rounds > 0:
		return fmt.Errorf("--max-rounds %d and --rounds %d exclude each other: --rounds fixes the number of rounds; leave one out, or add --until decided to end after %d to %d rounds", f.MaxRounds, f.Rounds, f.Rounds, f.MaxRounds)
	case changed("max-rounds") && f.until == "" && !limited && f.Quick:
		return fmt.Errorf("--max-rounds %d: a --quick run has a fixed number of rounds; add --until decided or --for", f.MaxRounds)
	}
	return nil
}

// untilDecided reports whether a run ends when its verdicts are decided. That is the default, except
// where the user fixes the number of rounds or the experiment has too few of them for a verdict.
func (f *runFlags) untilDecided(file string, doc []byte) (bool, error) {
	if f.until == "decided" || f.For > 0 || f.MaxRounds > 0 {
		return true, nil
	}
	if f.Quick || len(f.gates.gates) > 0 || f.FixRounds() {
		return false, nil
	}
	e, err := experiment.ReadFor(file, doc, lab.Vocabulary(), f.on)
	if err != nil {
		return false, err
	}
	return e.Rounds >= experiment.FewestRounds(e.Design), nil
}

// runAndShow runs a plan and shows its progress on standard error, and on request on a page and to Prometheus. The result
// stores what conditions returns.
func (f runFlags) runAndShow(c *cobra.Command, plan lab.Plan, commandLine string, conditions func(result.Document) result.Document) (document result.Document, err error) {
	continueWithoutReader()
	bar := newProgress(c.ErrOrStderr(), f.progress)
	bar.load = plan.Name == generator.Experiment
	defer bar.end()
	hints := c.ErrOrStderr()
	if f.progress.quiet {
		hints = io.Discard
	}
	store, done, err := f.keeping.open(hints)
	if err != nil {
		return document, err
	}
	defer func() { err = errors.Join(err, done()) }()
	id := result.NewID(time.Now())
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	shown, err := f.live.open(c.ErrOrStderr(), store)
	if err != nil {
		return document, err
	}
	defer func() { shown.close(document, err) }()
	if f.on == "local" && plan.DropsPackets() {
		f.telemetry = f.telemetry.unreachable(c.ErrOrStderr())
	}
	sent, err := f.telemetry.open(c.ErrOrStderr(), plan, id, shown.meters)
	if err != nil {
		return document, err
	}
	defer func() { sent.close(document, err) }() // before the page, which has no more to show
	show := shown.follow(plan.Plan, id, stop)
	o := lab.Options{ID: id, Kind: f.on, Store: store, Command: commandLine, Settled: f.gates.settled(), Conditions: conditions, Phases: sent.phase, Progress: func(p lab.Progress) {
		bar.show(p)
		show(p)
		sent.show(p)
	}}
	if f.on == "kubernetes" {
		return conduct(ctx, plan, o, func(o *lab.Options) (cluster.Cluster, error) { return f.openKubernetes(ctx, plan, o, bar) })
	}
	return conductLocal(ctx, c.ErrOrStderr(), plan, o, f.machine)
}

// openKubernetes creates a cluster in a new namespace, and shows what it waits for.
func (f runFlags) openKubernetes(ctx context.Context, plan lab.Plan, o *lab.Options, bar *progress) (cluster.Cluster, error) {
	api, err := kubernetes.Connect(ctx, f.where)
	if err != nil {
		return nil, err
	}
	o.Kubernetes, o.Remote = api.Version, true
	for _, n := range api.Nodes(ctx) {
		o.Nodes = append(o.Nodes, result.Node{OS: n.OS, Arch: n.Arch, CPUs: n.CPUs, Memory: n.Memory})
	}
	image, err := f.images.find(ctx, api, imageNeeds{plan.Tools(), plan.Languages()}, bar)
	o.MissingPrograms = image.missing
	if err != nil {
		return nil, err
	}
	return kubernetes.New(ctx, api, kubernetes.Options{ID: o.ID, Image: image.name, Architecture: image.architecture, Progress: bar.wait, Note: bar.note, Disruptions: disruptions(plan.Plan)})
}
