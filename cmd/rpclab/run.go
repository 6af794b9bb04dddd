package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/process"
	"rpclab/internal/result"
)

// runFlags are what `rpclab run` can be told.
type runFlags struct {
	experiment.Options
	on      string
	where   kubernetes.Where
	image   string
	until   string
	keeping keeping
	asserts []string
	outputs outputs
	live    liveFlags
}

func runCommand() *cobra.Command {
	var f runFlags
	command := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Run an experiment and say which difference is real",
		Long: `Runs a built-in experiment (see 'rpclab list') or one from a YAML file: every
arm in every cell, round by round, on fresh processes of this machine or in pods
of a Kubernetes.`,
		Example: `  rpclab run channels --quick
  rpclab run channels --arms shared,endpointslice --set load.burst=500
  rpclab run ./mine.yaml --rounds 10 --json out.json --md out.md
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
	registerWhere(flags, &f.where)
	flags.StringVar(&f.image, "image", "", "`name` of rpclab's image for kubernetes (default: RPCLAB_IMAGE, or that of 'rpclab image build')")
	flags.StringSliceVar(&f.Arms, "arms", nil, "only these arms, comma-separated")
	flags.StringArrayVar(&f.Set, "set", nil, "override a field, `path=value`, as often as needed")
	flags.IntVar(&f.Rounds, "rounds", 0, "how often every arm is measured (default: as the experiment says)")
	flags.StringVar(&f.until, "until", "", "`decided`: go on after these rounds until every headline verdict is decided")
	flags.IntVar(&f.MaxRounds, "max-rounds", 0, "the most rounds of a run until decided (default 30, or twice those of the experiment)")
	flags.Uint64Var(&f.Seed, "seed", 0, "of every random choice of the plan (default: drawn, and printed)")
	flags.BoolVar(&f.Quick, "quick", false, "the whole experiment, made small")
	flags.Float64Var(&f.Scale, "scale", 0, "so much of the study's own `size`, where the experiment says what that is: 0.1, or 1 for all of it (default: as the experiment says)")
	f.keeping.register(flags)
	flags.StringArrayVar(&f.asserts, "assert", nil,
		"`condition` that has to hold for every arm, such as 'p99 < 50ms' or 'errors == 0', as often as needed")
	f.outputs.register(flags)
	f.outputs.registerHTML(flags)
	f.live.register(flags)
	return command
}

func runExperiment(c *cobra.Command, name string, f runFlags) error {
	if f.on != "local" && f.on != "kubernetes" {
		return usage{fmt.Errorf("--on %s: there is no such cluster; there are local and kubernetes", f.on)}
	}
	if c.Flags().Changed("rounds") && f.Rounds < 1 {
		return usage{fmt.Errorf("--rounds %d: at least 1 is needed, 4 for a verdict", f.Rounds)}
	}
	if c.Flags().Changed("scale") && f.Scale <= 0 {
		return usage{fmt.Errorf("--scale %v: it has to be more than 0; 1 is the size of the study", f.Scale)}
	}
	if c.Flags().Changed("listen") && !f.live.web {
		return usage{errors.New("--listen is the address of a page: add --web")}
	}
	if err := f.checkUntil(c.Flags().Changed("max-rounds")); err != nil {
		return usage{err}
	}
	file, doc, err := openExperiment(name)
	if err != nil {
		return usage{err}
	}
	plan, err := experiment.Expand(file, doc, f.Options, lab.Vocabulary())
	if err != nil {
		return usage{err}
	}
	if err := lab.CheckCluster(plan, f.on); err != nil {
		return usage{err}
	}
	assertions, err := parseAssertions(f.asserts)
	if err := errors.Join(err, f.outputs.check(), f.live.check()); err != nil {
		return usage{err}
	}
	document, err := f.watched(c, plan, f.Options.Command(name)+onCluster(f.on))
	if document.ID == "" {
		return err
	}
	checks := check(assertions, document.Arms)
	written := f.outputs.write(c, document, checks)
	if written == nil {
		f.keeping.tell(c, f.outputs, document.ID)
	}
	if err := errors.Join(err, written); err != nil {
		return err
	}
	return hold(c.ErrOrStderr(), checks, len(document.Arms))
}

func (f *runFlags) checkUntil(bounded bool) error {
	switch {
	case f.until != "" && f.until != "decided":
		return fmt.Errorf("--until %s: there is decided", f.until)
	case f.until == "" && bounded:
		return errors.New("--max-rounds is for a run that goes on: add --until decided")
	case bounded && f.MaxRounds < 1:
		return fmt.Errorf("--max-rounds %d: at least 4 are needed for a verdict", f.MaxRounds)
	}
	f.UntilDecided = f.until == "decided"
	return nil
}

// onCluster is what names the cluster on a command line.
func onCluster(kind string) string {
	if kind == "local" {
		return ""
	}
	return " --on " + kind
}

// watched runs a plan, and shows how it goes: in a line, and where it is asked for on a page
// and to Prometheus. The command line is what was said.
func (f runFlags) watched(c *cobra.Command, plan experiment.Plan, said string) (document result.Document, err error) {
	bar := newProgress(c.ErrOrStderr())
	defer bar.end()
	store, done, err := f.keeping.open()
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
	show := shown.follow(plan, id, stop)
	return conduct(ctx, plan, lab.Options{ID: id, Kind: f.on, Store: store, Command: said, Progress: func(p lab.Progress) {
		bar.show(p)
		show(p)
	}}, func(o *lab.Options) (cluster.Cluster, error) {
		if f.on == "kubernetes" {
			return f.openKubernetes(ctx, o, bar.wait)
		}
		return openLocal(c.ErrOrStderr(), plan, o)
	})
}

// conduct runs a plan on the cluster that is opened for it, for the command line as for a
// page.
func conduct(ctx context.Context, plan experiment.Plan, o lab.Options, open func(*lab.Options) (cluster.Cluster, error)) (document result.Document, err error) {
	self, err := os.Executable()
	if err != nil {
		return document, fmt.Errorf("find this program, to start servers from it: %w", err)
	}
	o.Self = []string{self}
	if o.MaxFiles, err = process.MaxFiles(); err != nil {
		return document, err
	}
	if o.Cluster, err = open(&o); err != nil {
		return document, err
	}
	defer func() { err = errors.Join(err, o.Cluster.Close()) }()
	return lab.Run(ctx, plan, o)
}
