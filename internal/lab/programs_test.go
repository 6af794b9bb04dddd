package lab_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/tool"
)

const proxied = `
experiment: proxied
question: Do arms without a proxy run where there is none?
defaults:
  workload: {greet: {}}
  server: {replicas: 2}
  route: direct
  caller: {warmup: 2}
  load: {burst: 20}
arms:
  none: {}
  envoy: {route: envoy}
  sidecar: {route: envoy, proxy: {place: sidecar}}
  again: {control: none}
rounds: 2
`

// An arm whose proxy is not available on the platform is reported as not run, in rounds and in turns, here and in a cluster
// whose image lacks the proxy. The other arms run.
func TestAnArmWhoseProxyIsNotAvailableIsReportedAsNotRun(t *testing.T) {
	t.Parallel()
	const why = "envoy is not installed, and not available on plan9/mips: install it"
	inTurns := proxied + "design: interleaved\n"
	lacks := func(o lab.Options) lab.Options {
		o.FindTool = func(t tool.Tool) (string, error) {
			return "", fmt.Errorf("%s is %w on plan9/mips: install it", t.Name, tool.ErrUnavailable)
		}
		return o
	}
	pods := remote(t)
	pods.MissingPrograms = map[string]string{"envoy": why}
	for name, c := range map[string]struct {
		doc     string
		options lab.Options
	}{"rounds": {proxied, lacks(options(t))}, "turns": {inTurns, lacks(options(t))}, "pods": {proxied, pods}} {
		t.Run(name, func(t *testing.T) {
			c.options.Conditions = func(d result.Document) result.Document {
				d.Conditions = result.ConditionsFailed
				return d
			}
			d, err := lab.Run(t.Context(), plan(t, c.doc, experiment.Options{Seed: 1}), c.options)
			if d.Partial || d.Conditions != result.ConditionsFailed {
				t.Errorf("partial: %t, conditions %q; want a complete run whose gates were tested", d.Partial, d.Conditions)
			}
			const want = "envoy, sidecar: not run: " + why
			if !errors.Is(err, lab.ErrNotRun) || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
			for _, a := range d.Arms {
				lacks := a.Name == "envoy" || a.Name == "sidecar"
				for _, trial := range a.Trials {
					if lacks != (trial.Failed == "not run: "+why) || lacks != (trial.Calls == 0) {
						t.Errorf("%s, round %d: %d calls, failed %q", a.Name, trial.Round, trial.Calls, trial.Failed)
					}
				}
				if len(a.Trials) != 2 {
					t.Errorf("%s has %d trials, want 2", a.Name, len(a.Trials))
				}
			}
		})
	}
}

// A proxy that can be installed is, before the run.
func TestAProxyThatIsNotInstalledEndsTheRunBeforeItsFirstTrial(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.FindTool = func(t tool.Tool) (string, error) {
		return "", fmt.Errorf("%s is %w: install it", t.Name, tool.ErrMissing)
	}
	d, err := lab.Run(t.Context(), plan(t, proxied, experiment.Options{Seed: 1}), o)
	if err == nil || !strings.Contains(err.Error(), "for envoy, sidecar: envoy is not installed: install it") || len(d.Arms) > 0 {
		t.Errorf("error %v and %d arms, want an error that says how to install Envoy", err, len(d.Arms))
	}
}
