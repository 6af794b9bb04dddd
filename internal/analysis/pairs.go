package analysis

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// armPair is the same arm of two runs.
type armPair struct {
	a, b result.Arm
	busy reason // why runs on these machines are not compared
}

// name returns the arm's name, or both names if they differ.
func (p armPair) name() string {
	if p.a.Name == p.b.Name {
		return p.a.Name
	}
	return p.a.Name + " / " + p.b.Name
}

// pairsOf pairs the arms of two runs that have the same name and cell, except for paths that one run has lost (see
// [result.WithoutPaths]); alone are the other arms. If each run has only one arm, such as a load of one server, the two
// arms are a pair even if their names differ.
func pairsOf(a, b result.Document) (pairs []armPair, alone []result.Refusal) {
	if len(a.Arms) == 1 && len(b.Arms) == 1 && len(a.Arms[0].Cell)+len(b.Arms[0].Cell) == 0 && a.Experiment == b.Experiment {
		return []armPair{{a: a.Arms[0], b: b.Arms[0]}}, nil
	}
	shortA, shortB := shortKeys(a.Arms), shortKeys(b.Arms)
	inB, shortInB, paired := map[result.ArmKey]int{}, map[result.ArmKey]int{}, map[int]bool{}
	for i, arm := range b.Arms {
		inB[arm.Key()], shortInB[shortB[i]] = i, i
	}
	for i, arm := range a.Arms {
		at, ok := inB[arm.Key()]
		if !ok {
			at, ok = inB[shortA[i]]
		}
		if !ok {
			at, ok = shortInB[arm.Key()]
		}
		if !ok {
			alone = append(alone, result.Refusal{Arm: arm.Name, Cell: arm.Cell, Reason: "only in A"})
			continue
		}
		pairs, paired[at] = append(pairs, armPair{a: arm, b: b.Arms[at]}), true
	}
	for i, arm := range b.Arms {
		if !paired[i] {
			alone = append(alone, result.Refusal{Arm: arm.Name, Cell: arm.Cell, Reason: "only in B"})
		}
	}
	return pairs, alone
}

// shortKeys are the keys that arms have without paths.
func shortKeys(arms []result.Arm) (keys []result.ArmKey) {
	var named []result.Arm
	for _, arm := range arms {
		named = append(named, result.Arm{Name: arm.Name, Cell: arm.Cell})
	}
	for _, arm := range result.WithoutPaths(named) {
		keys = append(keys, arm.Key())
	}
	return keys
}

// differences lists how two runs differ, except in measurements, seeds and rounds: a seed does not
// matter, and the number of trials shows the rounds.
func differences(a, b result.Document, pairs []armPair) (all []result.Difference) {
	differ := func(kind, what string, left, right any) {
		if l, r := asText(left), asText(right); l != r {
			all = append(all, result.Difference{Kind: kind, What: what, A: l, B: r})
		}
	}
	machineA, machineB := a.Machine, b.Machine
	differ("machine", "cluster", a.Cluster, b.Cluster)
	if a.Cluster == b.Cluster && machineA.Kubernetes != "" { // rpclab's own machine ran neither callers nor servers
		differ("version", "Kubernetes", machineA.Kubernetes, machineB.Kubernetes)
		differ("machine", "nodes", strings.Join(machineA.NodeKinds(), "; "), strings.Join(machineB.NodeKinds(), "; "))
	} else {
		differ("machine", "CPU model", machineA.Model, machineB.Model)
		differ("machine", "CPUs", machineA.CPUs, machineB.CPUs)
		differ("machine", "system", machineA.OS+"/"+machineA.Arch, machineB.OS+"/"+machineB.Arch)
		differ("machine", "kernel", machineA.Kernel, machineB.Kernel)
	}
	differ("version", "Go", machineA.Go, machineB.Go)
	differ("version", "rpclab", machineA.Rpclab, machineB.Rpclab)
	for _, name := range toolsOf(pairs) {
		differ("version", name, machineA.Tools[name], machineB.Tools[name])
	}
	differ("run", "quick", a.Quick, b.Quick)
	differ("run", "partial", a.Partial, b.Partial)
	for _, p := range pairs {
		for _, d := range changedSettings(p.a, p.b) {
			d.Arm, d.Cell = p.name(), p.a.Cell
			all = append(all, d)
		}
	}
	return all
}

// toolsOf lists the programs that routes of the compared arms need.
func toolsOf(pairs []armPair) []string {
	used := map[string]bool{}
	for _, p := range pairs {
		for _, name := range []string{p.a.Tool, p.b.Tool} {
			if name != "" {
				used[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(used))
}

// changedSettings lists the settings that differ between two arms.
func changedSettings(a, b result.Arm) (all []result.Difference) {
	left, right := a.SettingsByPath(), b.SettingsByPath()
	paths := maps.Clone(left)
	maps.Copy(paths, right)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if within(path, "generator") {
			continue // a load generator's measurements of itself are not settings
		}
		l, r := asText(left[path]), asText(right[path])
		if l != r && l != result.ShortenPaths(r) && result.ShortenPaths(l) != r { // one of the runs may have lost its paths
			all = append(all, result.Difference{Kind: "setting", What: path, A: l, B: r})
		}
	}
	return all
}

// asText formats a value, the same before and after a round trip through JSON; "" for nil.
func asText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// decisive are the settings that change what an arm measures: what calls do, and how many are made.
var decisive = []string{"workload", "load", "call", "stream", "messages", "think"}

// incomparable returns why an arm cannot be compared between two runs, or "" if it can.
func incomparable(a, b result.Document, p armPair, allowed []string) string {
	mayDiffer := func(path string) bool {
		return slices.ContainsFunc(allowed, func(allow string) bool { return within(path, allow) })
	}
	because := func(what, left, right string) string {
		return fmt.Sprintf("%s: %s in A, %s in B (--allow %s if that is what you compare)", what, valueOrNotSet(left), valueOrNotSet(right), what)
	}
	switch {
	case a.Experiment != b.Experiment && !mayDiffer("experiment"):
		return because("experiment", a.Experiment, b.Experiment)
	case a.Quick != b.Quick && !mayDiffer("quick"):
		return because("quick", asText(a.Quick), asText(b.Quick))
	}
	for _, d := range changedSettings(p.a, p.b) {
		changes := slices.ContainsFunc(decisive, func(field string) bool { return within(d.What, field) })
		if changes && !mayDiffer(d.What) {
			return because(d.What, d.A, d.B)
		}
	}
	return ""
}

// within reports whether a path names a field or a field below it.
func within(path, field string) bool { return path == field || strings.HasPrefix(path, field+".") }

func valueOrNotSet(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}
