package lab_test

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/analysis"
	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const small = `
experiment: small
question: Does it work?
defaults:
  workload: {greet: {delay: 5ms}}
  server: {replicas: 3}
  route: clusterip
  caller: {warmup: 10}
  load: {burst: 60}
arms:
  shared: {}
  endpointslice: {route: endpointslice}
rounds: 2
`

func plan(t *testing.T, doc string, o experiment.Options) lab.Plan {
	t.Helper()
	p, err := experiment.Expand("test.yaml", []byte(doc), o, lab.Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := lab.Resolve(p)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func options(t *testing.T) lab.Options {
	t.Helper()
	files, err := process.RaiseFileLimit()
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	cluster, err := local.New(local.Options{Server: []string{testkit.Rpclab(t), "server"}, Self: []string{testkit.Rpclab(t)}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	store, err := result.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cluster.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return lab.Options{
		Cluster: cluster, Kind: "local", Self: []string{testkit.Rpclab(t)},
		Store: store, MaxFiles: files,
		// Other programs on this machine must not affect these tests.
		Processors: func() measure.ProcessorTimes { return measure.ProcessorTimes{} },
	}
}

// withCaller returns options of a run whose caller is a shell script.
func withCaller(t *testing.T, script string) lab.Options {
	t.Helper()
	o := options(t)
	c, err := local.New(local.Options{
		Server: []string{testkit.Rpclab(t), "server"}, Self: []string{"sh", "-c", script}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Cluster = c
	return o
}

func arm(t *testing.T, d result.Document, name string) result.Arm {
	t.Helper()
	for _, a := range d.Arms {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("there is no arm %s", name)
	return result.Arm{}
}

func TestThePublishedSchemaIsCurrent(t *testing.T) {
	schema, err := experiment.Schema(lab.Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	testkit.GoldenFile(t, "../../api/experiment.schema.json", string(schema))
}

func TestARunMeasuresEveryArmInEveryRound(t *testing.T) {
	t.Parallel()
	o := options(t)
	d, err := lab.Run(t.Context(), plan(t, small, experiment.Options{Seed: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shared", "endpointslice"} {
		a := arm(t, d, name)
		if len(a.Trials) != 2 || a.Calls != 120 || len(a.Errors) != 0 || a.Latency.P50 < 5 {
			t.Errorf("%s: %d trials, %d calls, errors %v, p50 %.2f ms", name, len(a.Trials), a.Calls, a.Errors, a.Latency.P50)
		}
		if a.Resources.Client.CPU <= 0 || a.Resources.Server.CPU <= 0 || a.Resources.Client.RSS == 0 || a.Resources.Server.RSS == 0 {
			t.Errorf("%s: resources are %+v", name, a.Resources)
		}
		for _, trial := range a.Trials {
			if len(trial.Backends) != 3 {
				t.Errorf("%s round %d: backends are %v; three were ready", name, trial.Round, trial.Backends)
			}
		}
	}
	if one := arm(t, d, "shared").Balance.Jain; one < 0.333 || one > 0.334 {
		t.Errorf("shared has Jain's index %.3f; one connection reaches one of three backends", one)
	}
	if even := arm(t, d, "endpointslice").Balance.Jain; even < 0.999 {
		t.Errorf("endpointslice has Jain's index %.3f", even)
	}
	stored, complete, err := o.Store.Get(t.Context(), d.ID)
	if err != nil || !complete || len(arm(t, stored, "shared").Trials) != 2 {
		t.Errorf("stored: complete is %v, %v", complete, err)
	}
}

// counting is a cluster that counts its deployments.
type counting struct {
	cluster.Cluster
	deployed int
}

func (c *counting) Deploy(ctx context.Context, spec cluster.Spec) (cluster.Deployment, error) {
	c.deployed++
	return c.Cluster.Deploy(ctx, spec)
}

func TestFreshServersAreNewInEveryTrial(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]int{"server.fresh=true": 4, "server.fresh=false": 1} {
		o := options(t)
		c := &counting{Cluster: o.Cluster}
		o.Cluster = c
		d, err := lab.Run(t.Context(), plan(t, small, experiment.Options{Set: []string{set}}), o)
		if err != nil {
			t.Fatal(err)
		}
		if c.deployed != want || arm(t, d, "shared").Calls != 120 {
			t.Errorf("%s: deployed %d times, want %d; %d calls", set, c.deployed, want, arm(t, d, "shared").Calls)
		}
	}
}

func TestAnInterruptKeepsTheTrialsThatHaveEnded(t *testing.T) {
	t.Parallel()
	o := options(t)
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p lab.Progress) {
		if p.Ended == nil && p.Trial.Order == 2 {
			cancel()
		}
	}
	d, err := lab.Run(ctx, plan(t, small, experiment.Options{}), o)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("ended with %v", err)
	}
	trials := len(arm(t, d, "shared").Trials) + len(arm(t, d, "endpointslice").Trials)
	if !d.Partial || trials != 2 {
		t.Errorf("partial is %v with %d trials; two of four trials had ended", d.Partial, trials)
	}
	stored, complete, err := o.Store.Get(t.Context(), d.ID)
	if err != nil || !complete || !stored.Partial {
		t.Errorf("stored: complete %v, partial %v, %v", complete, stored.Partial, err)
	}
}

// The store has the header and the trials of such a run. The rest of its document is computed from
// them.
func TestARunWhoseProcessDiedIsAssembledFromItsTrials(t *testing.T) {
	t.Parallel()
	o := options(t)
	d, err := lab.Run(t.Context(), plan(t, small, experiment.Options{}), o)
	if err != nil {
		t.Fatal(err)
	}
	dead := d
	dead.ID, dead.Verdicts, dead.Arms = "20261120-000000-dead", nil, nil
	for _, a := range d.Arms {
		a.Measures, a.Trials = result.Measures{}, nil
		dead.Arms = append(dead.Arms, a)
	}
	if err := o.Store.Begin(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	if err := o.Store.AddTrials(t.Context(), dead.ID, d.Arms...); err != nil {
		t.Fatal(err)
	}
	stored, complete, err := o.Store.Get(t.Context(), dead.ID)
	if err != nil || complete {
		t.Fatalf("complete is %v, %v", complete, err)
	}
	again := analysis.Assemble(stored)
	if diff := cmp.Diff(arm(t, d, "shared").Measures, arm(t, again, "shared").Measures); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(d.Verdicts, again.Verdicts); diff != "" || len(d.Verdicts) == 0 {
		t.Errorf("%d verdicts: %s", len(d.Verdicts), diff)
	}
}

func TestAServerThatCannotStartEndsTheRun(t *testing.T) {
	t.Parallel()
	o := options(t)
	var err error
	if o.Cluster, err = local.New(local.Options{Server: []string{testkit.Rpclab(t), "server", "--bad"}, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	d, err := lab.Run(t.Context(), plan(t, small, experiment.Options{}), o)
	if err == nil || !d.Partial {
		t.Fatalf("partial is %v, error %v", d.Partial, err)
	}
	varies := regexp.MustCompile(`arm \S+: server greeter-\d at [0-9.:]+`)
	testkit.Golden(t, "server-died.txt", varies.ReplaceAllString(err.Error(), "arm ARM: server ID at ADDRESS")+"\n")
}

// Only the first two servers ever become ready.
func TestARolloutThatOutlastsItsLoadIsAWarning(t *testing.T) {
	t.Parallel()
	o := options(t)
	program := `case "$*" in *greeter-[01]*) exec "$0" server "$@";; *) exec sleep 600;; esac`
	c, err := local.New(local.Options{Server: []string{"sh", "-c", program, testkit.Rpclab(t)}, Self: []string{testkit.Rpclab(t)}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Cluster = c
	d, err := lab.Run(t.Context(), plan(t, small, experiment.Options{Rounds: 1, Arms: []string{"shared"}, Set: []string{
		"server.replicas=2", "load={open: {rate: 50, duration: 2s}}", "events=[{at: 100ms, roll: true}]",
	}}), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := "shared, round 1: the load ended after 0 of 2 backends were replaced (roll); lengthen the load"; !slices.Contains(d.Warnings, want) {
		t.Errorf("the warnings are %q, want %q", d.Warnings, want)
	}
}

func TestACallerThatDiesFailsItsTrialOnly(t *testing.T) {
	t.Parallel()
	o := withCaller(t, "read line; echo no disk space >&2; exit 7")
	d, err := lab.Run(t.Context(), plan(t, small, experiment.Options{Rounds: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	trial := arm(t, d, "shared").Trials[0]
	if !strings.Contains(trial.Failed, "exit status 7") || !strings.Contains(trial.Failed, "no disk space") {
		t.Errorf("the trial failed for %q", trial.Failed)
	}
	if strings.Count(strings.Join(d.Warnings, "\n"), "gave no measurement") != 2 {
		t.Errorf("warnings are %q; want one about the measurement of each arm", d.Warnings)
	}
}

func TestAPlanThatNeedsTooManyFilesIsRejected(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.MaxFiles = 100
	p := plan(t, small, experiment.Options{Set: []string{"caller.channel=per-call"}, Arms: []string{"shared"}})
	_, err := lab.Run(t.Context(), p, o)
	if !errors.Is(err, lab.ErrTooFewFiles) || !strings.Contains(err.Error(), "124 in one process, for 60 channels at once with 1 connections each") {
		t.Errorf("got %v", err)
	}
}
