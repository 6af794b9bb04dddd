package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// Who pastes the command of a plan gets the run that was planned: with its conditions, on its cluster.
func TestThePlanPrintsTheRunThatItPlanned(t *testing.T) {
	t.Setenv(configVariable, os.DevNull)
	for _, c := range []struct {
		args  []string
		want  string // the end of the command
		pilot string // the end of the command that measures the noise
	}{
		{[]string{"--gate", "p50 ratio < 1.1", "--gate", "p99 ratio < 2", "--against", "baseline", "--undecided", "pass"},
			"--seed 1 --gate 'p50 ratio < 1.1' --gate 'p99 ratio < 2' --against baseline --undecided pass", "--seed 1"},
		{[]string{"--for", "30s", "--gate", "p50 ratio < 1.1", "--against", "old.json", "--allow", "quick,busy", "--assert", "errors == 0"},
			"--for 30s --seed 1 --gate 'p50 ratio < 1.1' --against old.json --allow quick --allow busy --assert 'errors == 0'", "--seed 1"},
		{[]string{"--on", "kubernetes", "--context", "kind", "--image", "x:1"},
			"--seed 1 --on kubernetes --context kind --image x:1", "--seed 1 --on kubernetes --context kind --image x:1"},
	} {
		var out strings.Builder
		command := root()
		command.SetOut(&out)
		command.SetArgs(append([]string{"run", "channels", "--plan", "--no-store", "--json", "-", "--seed", "1"}, c.args...))
		err := command.Execute()
		var plan result.Plan
		if err == nil {
			err = json.Unmarshal([]byte(out.String()), &plan)
		}
		if err != nil || !strings.HasSuffix(plan.Command, c.want) || !strings.HasSuffix(plan.Pilot, c.pilot) {
			t.Errorf("%q (%v):\ncommand %s\nwant …%s\npilot   %s\nwant …%s", c.args, err, plan.Command, c.want, plan.Pilot, c.pilot)
		}
	}
}

// Quick trials of policies have too few calls for its p99, and its failed calls show no noise.
func TestAPlanRecommendsNoShortRunThatMeasuresNothing(t *testing.T) {
	t.Setenv(configVariable, os.DevNull)
	var out strings.Builder
	command := root()
	command.SetOut(&out)
	command.SetArgs([]string{"run", "policies", "--plan", "--no-store", "--json", "-"})
	err := command.Execute()
	plan := result.Plan{Pilot: "not read"}
	if err == nil {
		err = json.Unmarshal([]byte(out.String()), &plan)
	}
	if err != nil || plan.Pilot != "" || len(plan.TooFewCalls) > 0 {
		t.Errorf("%v: the plan recommends %q, and %v have too few calls; want none", err, plan.Pilot, plan.TooFewCalls)
	}
}

// TestThePlanNamesTheLiveServiceThatItsEventsChange plans, as docs/kubernetes.md says, before live pods are disturbed.
func TestThePlanNamesTheLiveServiceThatItsEventsChange(t *testing.T) {
	t.Setenv(configVariable, os.DevNull)
	file := filepath.Join(t.TempDir(), "x.yaml")
	doc := "experiment: x\nquestion: q?\nservices: {shop: {server: {service: shop/orders}, calls: {get: {method: a.B/C}}}}\n" +
		"defaults: {service: shop, workload: {call: get}, load: {open: {rate: 5, duration: 9s}}, route: headless}\narms: {a: {}, b: {route: clusterip}}\nevents: [{at: 1s, kill: 1}, {at: 2s, roll: true}]\n"
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	command := root()
	command.SetOut(&out)
	command.SetArgs([]string{"run", file, "--plan", "--no-store", "--json", "-", "--on", "kubernetes", "--allow-disruption"})
	err := command.Execute()
	var plan result.Plan
	if err == nil {
		err = json.Unmarshal([]byte(out.String()), &plan)
	}
	if want := []result.Disrupted{{Service: "shop/orders", Events: "kill 1, roll"}}; err != nil || !slices.Equal(plan.Disrupts, want) {
		t.Errorf("%v: the plan disrupts %v, want %v", err, plan.Disrupts, want)
	}
}

// The default of the plugin is --on kubernetes, so the command of a plan names its cluster, and --pilot needs --on local.
func TestThePluginPlansRunsOnTheClusterThatItPlanned(t *testing.T) {
	t.Setenv(configVariable, os.DevNull)
	for args, want := range map[string]string{"--on local": " --on local", "": " --on kubernetes", "--on local --quick": " --on local"} {
		var out strings.Builder
		command := root()
		asPlugin(command, pluginProgram)
		command.SetOut(&out)
		command.SetArgs(append([]string{"run", "channels", "--plan", "--no-store", "--json", "-"}, strings.Fields(args)...))
		err := command.Execute()
		var plan result.Plan
		if err == nil {
			err = json.Unmarshal([]byte(out.String()), &plan)
		}
		if err != nil || !strings.HasSuffix(plan.Command, want) || !strings.HasSuffix(plan.Pilot, want) {
			t.Errorf("%q (%v): command %s, pilot %s; want …%s", args, err, plan.Command, plan.Pilot, want)
		}
	}
	command := root()
	asPlugin(command, pluginProgram)
	command.SetArgs([]string{"run", "channels", "--plan", "--no-store", "--pilot"})
	if err := command.Execute(); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "add --on local") {
		t.Errorf("--pilot on Kubernetes ends with %v; want the remedy --on local", err)
	}
}

// A plan refuses the gates that its run would refuse.
func TestAPlanChecksItsGates(t *testing.T) {
	t.Setenv(configVariable, os.DevNull)
	command := root()
	command.SetArgs([]string{"run", "channels", "--plan", "--no-store", "--arms", "shared", "--gate", "p50 ratio < 1.1", "--against", "baseline"})
	if err := command.Execute(); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "has no other arm") {
		t.Errorf("a plan with gates and one arm ends with %v", err)
	}
}
