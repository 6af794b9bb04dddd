package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rpclab/internal/result"
	"rpclab/internal/route"
)

// differences lists what is not the same around the numbers of two runs. Seeds do not
// matter, and rounds show in the number of trials.
func differences(a, b result.Document, pairs []acrossPair) (all []result.Difference) {
	differ := func(kind, what string, left, right any) {
		if l, r := shown(left), shown(right); l != r {
			all = append(all, result.Difference{Kind: kind, What: what, A: l, B: r})
		}
	}
	m, n := a.Machine, b.Machine
	differ("machine", "cluster", a.Cluster, b.Cluster)
	if a.Cluster == b.Cluster && m.Kubernetes != "" { // who conducts took no part
		differ("version", "Kubernetes", m.Kubernetes, n.Kubernetes)
		differ("machine", "nodes", strings.Join(m.NodeKinds(), "; "), strings.Join(n.NodeKinds(), "; "))
	} else {
		differ("machine", "CPU model", m.Model, n.Model)
		differ("machine", "CPUs", m.CPUs, n.CPUs)
		differ("machine", "system", m.OS+"/"+m.Arch, n.OS+"/"+n.Arch)
		differ("machine", "kernel", m.Kernel, n.Kernel)
	}
	differ("version", "Go", m.Go, n.Go)
	differ("version", "rpclab", m.Rpclab, n.Rpclab)
	for _, name := range toolsOf(pairs) {
		differ("version", name, m.Tools[name], n.Tools[name])
	}
	differ("run", "quick", a.Quick, b.Quick)
	differ("run", "partial", a.Partial, b.Partial)
	for _, p := range pairs {
		for _, d := range changedSettings(p.a.Config, p.b.Config) {
			d.Arm, d.Cell = p.name(), p.a.Cell
			all = append(all, d)
		}
	}
	return all
}

// toolsOf are the programs of others that take part in what is compared.
func toolsOf(pairs []acrossPair) []string {
	taking := map[string]bool{}
	for _, p := range pairs {
		for _, name := range []string{p.a.Route, p.b.Route} {
			if way, err := route.Lookup(name); err == nil && way.Tool != "" {
				taking[way.Tool] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(taking))
}

// changedSettings are those in which two configurations differ.
func changedSettings(a, b map[string]any) (all []result.Difference) {
	left, right := flat("", a), flat("", b)
	paths := maps.Clone(left)
	maps.Copy(paths, right)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if strings.HasPrefix(path, "generator.") {
			continue // what a load's generator measured of itself is no setting
		}
		if l, r := shown(left[path]), shown(right[path]); l != r {
			all = append(all, result.Difference{Kind: "setting", What: path, A: l, B: r})
		}
	}
	return all
}

// flat makes one field path for each setting.
func flat(path string, config map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range config {
		if path != "" {
			name = path + "." + name
		}
		if deeper, ok := v.(map[string]any); ok {
			maps.Copy(out, flat(name, deeper))
			continue
		}
		out[name] = v
	}
	return out
}

// shown is a value as text, the same whether it comes from Go or from JSON; "" of none.
func shown(v any) string {
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

// decisive settings make another question of an arm: what it is asked to do, and how
// often.
var decisive = []string{"workload", "load", "call", "stream", "messages", "think"}

// incomparable says why an arm of two runs is not compared; "" when it can be.
func incomparable(a, b result.Document, p acrossPair, allowed []string) string {
	free := func(path string) bool {
		return slices.ContainsFunc(allowed, func(allow string) bool { return within(path, allow) })
	}
	because := func(what, left, right string) string {
		return fmt.Sprintf("%s: %s in A, %s in B (--allow %s if that is what you compare)", what, orNone(left), orNone(right), what)
	}
	switch {
	case a.Experiment != b.Experiment && !free("experiment"):
		return because("experiment", a.Experiment, b.Experiment)
	case a.Quick != b.Quick && !free("quick"):
		return because("quick", shown(a.Quick), shown(b.Quick))
	}
	for _, d := range changedSettings(p.a.Config, p.b.Config) {
		top, _, _ := strings.Cut(d.What, ".")
		if slices.Contains(decisive, top) && !free(d.What) {
			return because(d.What, d.A, d.B)
		}
	}
	return ""
}

// within says whether a path is that of a field or lies below it.
func within(path, field string) bool { return path == field || strings.HasPrefix(path, field+".") }

func orNone(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}
