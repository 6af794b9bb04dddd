package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

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
// [result.WithoutPaths]); alone are the other arms. Where that made paths equal, their order decides if both runs have as
// many; otherwise nobody can tell which arms are pairs. The arms of two loads of one server are a pair even if their names,
// which are addresses, differ.
func pairsOf(a, b result.Document) (pairs []armPair, alone []result.Refusal) {
	if len(a.Arms) == 1 && len(b.Arms) == 1 && len(a.Arms[0].Cell)+len(b.Arms[0].Cell) == 0 && a.Experiment == "load" && b.Experiment == "load" {
		return []armPair{{a: a.Arms[0], b: b.Arms[0]}}, nil
	}
	inA, inB, paired := withoutPaths(a.Arms), withoutPaths(b.Arms), map[int]bool{}
	for i, arm := range a.Arms {
		at, ok := inB.whole[arm.Key()]
		if !ok {
			at, ok = inB.whole[inA.short[i]] // b has lost its paths
		}
		if !ok {
			at, ok = inB.byShort[arm.Key()] // a has
		}
		switch {
		case !ok:
			alone = append(alone, result.Refusal{Arm: arm.Name, Cell: arm.Cell, Reason: "only in A"})
		case (inA.lost(arm, i) || inB.lost(b.Arms[at], at)) && inA.equal[inA.bare[i]] != inB.equal[inB.bare[at]]:
			alone, paired[at] = append(alone, result.Refusal{Arm: arm.Name, Cell: arm.Cell, Reason: "without their directories, several paths are equal: compare stored runs"}), true
		default:
			pairs, paired[at] = append(pairs, armPair{a: arm, b: b.Arms[at]}), true
		}
	}
	for i, arm := range b.Arms {
		if !paired[i] {
			alone = append(alone, result.Refusal{Arm: arm.Name, Cell: arm.Cell, Reason: "only in B"})
		}
	}
	return pairs, alone
}

// armKeys are the keys of the arms of a run, with and without paths.
type armKeys struct {
	whole, byShort map[result.ArmKey]int // to the place of the arm
	short, bare    []result.ArmKey       // of each arm: as [result.WithoutPaths] has it, and without the number that it may add
	equal          map[result.ArmKey]int // how many arms have the same bare key
}

// numbered is a path that [result.WithoutPaths] shortened to the same text as another.
var numbered = regexp.MustCompile(`^(…/.*) \(\d+\)$`)

func withoutPaths(arms []result.Arm) armKeys {
	k := armKeys{whole: map[result.ArmKey]int{}, byShort: map[result.ArmKey]int{}, equal: map[result.ArmKey]int{}}
	var named []result.Arm
	for i, arm := range arms {
		k.whole[arm.Key()] = i
		named = append(named, result.Arm{Name: arm.Name, Cell: arm.Cell})
	}
	for i, arm := range result.WithoutPaths(named) {
		k.short = append(k.short, arm.Key())
		k.byShort[arm.Key()] = i
		for field, value := range arm.Cell {
			if text, ok := value.(string); ok {
				arm.Cell[field] = numbered.ReplaceAllString(text, "$1")
			}
		}
		k.bare = append(k.bare, arm.Key())
		k.equal[arm.Key()]++
	}
	return k
}

// lost reports whether the cell of an arm has lost its paths, or had none.
func (k armKeys) lost(arm result.Arm, at int) bool { return arm.Key() == k.short[at] }

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
	for _, name := range slices.Sorted(maps.Keys(machineA.Images)) {
		if ids := machineB.Images[name]; ids != nil {
			differ("version", "image "+name, strings.Join(machineA.Images[name], ", "), strings.Join(ids, ", "))
		}
	}
	differ("run", "design", cmp.Or(a.Design, "isolated"), cmp.Or(b.Design, "isolated")) // an older document names none
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

// recordedLater are settings of loads that earlier versions of rpclab did not record. Later versions record them always.
var recordedLater = []string{"data_hash", "metadata"}

// changedSettings lists the settings that differ between two arms, and what differs of their calls and servers. What one
// of the arms did not record is not known to differ.
func changedSettings(a, b result.Arm) (all []result.Difference) {
	left, right := a.SettingsByPath(), b.SettingsByPath()
	if a.OwnService != nil && b.OwnService != nil {
		maps.Copy(left, a.OwnService.ByPath())
		maps.Copy(right, b.OwnService.ByPath())
	}
	left["events"], right["events"] = eventsInWords(a, b)
	paths := maps.Clone(left)
	maps.Copy(paths, right)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if within(path, "generator") {
			continue // a load generator's measurements of itself are not settings
		}
		if slices.Contains(recordedLater, path) && (left[path] == nil || right[path] == nil) {
			continue
		}
		l, r := asText(left[path]), asText(right[path])
		if path == "call" {
			l, r = withoutHost(l), withoutHost(r)
		}
		if l != r && l != result.ShortenPaths(r) && result.ShortenPaths(l) != r { // one of the runs may have lost its paths
			all = append(all, result.Difference{Kind: "setting", What: path, A: l, B: r})
		}
	}
	return all
}

// withoutHost returns the call of a load without the address, which "target" holds: "GET /x" of "GET http://127.0.0.1:80/x".
func withoutHost(call string) string {
	method, address, _ := strings.Cut(call, " ")
	to, err := url.Parse(address)
	if err != nil || to.Host == "" {
		return call
	}
	return method + " " + to.RequestURI()
}

// eventsInWords returns the events of two arms as texts that are equal if the events are. Texts have the times of
// events if both arms recorded them.
func eventsInWords(a, b result.Arm) (left, right string) {
	inA, inB := plannedEvents(a), plannedEvents(b)
	if inA == nil || inB == nil {
		return "", ""
	}
	timed := !slices.ContainsFunc(slices.Concat(inA, inB), func(e result.Event) bool { return e.DueMS == nil })
	inWords := func(events []result.Event) string {
		var all []string
		for _, e := range events {
			text := e.What
			if timed {
				text += " at " + time.Duration(*e.DueMS*float64(time.Millisecond)).String()
			}
			all = append(all, text)
		}
		return strings.Join(all, ", ")
	}
	return inWords(inA), inWords(inB)
}

// plannedEvents returns the events of an arm, also those that rpclab could not perform; nil: not known.
func plannedEvents(arm result.Arm) (most []result.Event) {
	for _, t := range arm.Trials {
		if t.Failed == "" && (most == nil || len(t.Events) > len(most)) {
			most = append([]result.Event{}, t.Events...)
		}
	}
	return most
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

// decisive are the settings that change what an arm measures: what calls do, how many are made, and the events during them.
var decisive = []string{"workload", "load", "calls", "call", "data_hash", "metadata", "stream", "messages", "think", "events"}

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
