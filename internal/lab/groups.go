package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/caller"
	"rpclab/internal/experiment"
	"rpclab/internal/language"
	"rpclab/internal/result"
)

// This file divides arms that take turns into groups whose processes fit into this machine at the same time.

// ErrTooLittleMemory is the error of a plan of which not even two arms fit into memory at the same time.
var ErrTooLittleMemory = errors.New("too little memory")

// How much memory a proxy, a call in flight and a channel need, in bytes, measured like [language.Language.Memory]. The
// last two count at both ends; they were measured with a burst of 1,000 calls on one channel and on 1,000 channels.
const (
	memoryOfProxy   = 75e6
	memoryOfCall    = 40e3
	memoryOfChannel = 130e3
)

// usableMemory is the share of the free memory that a run may use.
const usableMemory = 0.8

// memoryOf estimates how much memory the processes of a trial use at a time, in bytes.
func memoryOf(t trial) uint64 {
	own, _ := language.Lookup(language.Go) // which there is
	rpclab := float64(own.Memory)          // a caller, a control plane, a gateway or a forwarder
	// other is the memory of a program in another language; 0: the program is in Go.
	other := func(name string) float64 {
		i := slices.IndexFunc(t.programs, func(l language.Language) bool { return l.Name == name })
		if i < 0 {
			return 0
		}
		return float64(t.programs[i].Memory)
	}
	server := float64(t.language.Memory)
	if limit := float64(t.Config.Server.Memory); limit > 0 {
		server = min(server, limit)
	}
	callers := float64(t.Config.CallerCount())
	all := server*float64(startedBackends(t)) + (rpclab+other(t.library.language()))*callers
	if t.route.Start != nil {
		proxies := 1.0
		if t.settings.Proxy.Sidecar {
			proxies = callers
		}
		all += rpclab + memoryOfProxy*proxies
	}
	if g := t.Config.Gateway; g != nil {
		all += rpclab + other(g.Language)
	}
	calls := float64(maxInFlight(t.Config.Load))
	channels := callers
	switch t.Config.Caller.Channel.Mode {
	case caller.PerCall, caller.PerUser:
		channels = calls
	case caller.Pool:
		channels *= float64(t.Config.Caller.Channel.Pool)
	}
	return uint64(all + calls*memoryOfCall + channels*memoryOfChannel)
}

// resources are what arms need at the same time, or what this machine has; 0: no limit.
type resources struct {
	memory uint64 // bytes
	files  uint64 // of rpclab itself
}

func (d resources) plus(other resources) resources {
	return resources{d.memory + other.memory, d.files + other.files}
}

// exceeds returns what a limit has too little of; empty: nothing.
func (d resources) exceeds(limit resources) string {
	switch {
	case limit.memory > 0 && d.memory > limit.memory:
		return result.LimitedByMemory
	case limit.files > 0 && d.files > limit.files:
		return result.LimitedByFiles
	}
	return ""
}

// tooLarge is the error of arms that have to be up at the same time and do not fit.
type tooLarge struct {
	arms   []string
	needed resources
	limit  string
}

func (e tooLarge) Error() string { return strings.Join(e.arms, ", ") + " exceed the " + e.limit }

// divide divides arms into groups that fit into a limit. A unit is arms that are compared with each other, so
// they stay in one group, in the first with room. Every group has the baseline. limitedBy is what all arms
// together exceed; empty: they are one group.
func divide(baseline string, units [][]string, needs map[string]resources, limit resources) (groups [][]string, limitedBy string, err error) {
	total := func(arms []string) (sum resources) {
		for _, arm := range arms {
			sum = sum.plus(needs[arm])
		}
		return sum
	}
	all := append([]string{baseline}, slices.Concat(units...)...)
	if limitedBy = total(all).exceeds(limit); limitedBy == "" {
		return [][]string{all}, "", nil
	}
	for _, unit := range units {
		alone := append([]string{baseline}, unit...)
		if by := total(alone).exceeds(limit); by != "" {
			return nil, by, tooLarge{alone, total(alone), by}
		}
		i := slices.IndexFunc(groups, func(g []string) bool { return total(append(slices.Clone(g), unit...)).exceeds(limit) == "" })
		if i < 0 {
			groups = append(groups, alone)
		} else {
			groups[i] = append(groups[i], unit...)
		}
	}
	return groups, limitedBy, nil
}

// units returns the arms of a plan except the baseline. Arms that are compared with each other, or that a confound
// needs, are one unit.
func units(p experiment.Plan) (all [][]string) {
	for _, a := range p.Arms {
		if a.Name != p.Baseline {
			all = append(all, []string{a.Name})
		}
	}
	of := func(name string) int {
		return slices.IndexFunc(all, func(u []string) bool { return slices.Contains(u, name) })
	}
	join := func(a, b string) {
		if i, j := of(a), of(b); i >= 0 && j >= 0 && i != j {
			i, j = min(i, j), max(i, j)
			all[i] = append(all[i], all[j]...)
			all = slices.Delete(all, j, j+1)
		}
	}
	for _, a := range p.Arms {
		join(a.Name, a.Control)
		join(a.Name, a.Against)
	}
	for _, c := range p.Confounds {
		join(c.Published, c.Controlled)
	}
	return all
}

// Fit divides the arms of a plan that take turns into groups that fit into the free memory (bytes) and open files
// of this machine; 0: not known. The plan is as before, and groups is nil, if all fit.
func (p Plan) Fit(freeMemory, maxFiles uint64) (fitted Plan, groups *result.Groups, err error) {
	if p.Design == "" || p.Design == experiment.Isolated {
		return p, nil, nil
	}
	needs := map[string]resources{} // the most of all cells
	for _, t := range p.trials {
		n := needs[t.Arm]
		needs[t.Arm] = resources{max(n.memory, memoryOf(t)), max(n.files, uint64(childrenOf(t)*filesPerChild))}
	}
	limit := resources{memory: uint64(usableMemory * float64(freeMemory))}
	if maxFiles > spareFiles {
		limit.files = maxFiles - spareFiles
	}
	pairs := units(p.Plan)
	if p.Design == experiment.SideBySide {
		pairs = [][]string{slices.Concat(pairs...)}
	}
	arms, limitedBy, err := divide(p.Baseline, pairs, needs, limit)
	var large tooLarge
	switch {
	case errors.As(err, &large) && large.limit == result.LimitedByMemory:
		return p, nil, fmt.Errorf("%w: the arms %s need about %.0f MB at the same time; %.0f MB are free, and rpclab uses up to %.0f %% of them.\n"+
			"Stop other programs, start fewer processes with --set server.replicas=1, or add --set design=isolated, with which one arm is up at a time",
			ErrTooLittleMemory, strings.Join(large.arms, " and "), float64(large.needed.memory)/1e6, float64(freeMemory)/1e6, 100*usableMemory)
	case err != nil || limitedBy == "": // checkFiles says which arm needs too many files
		return p, nil, nil
	}
	var all resources
	for _, n := range needs {
		all = all.plus(n)
	}
	groups = &result.Groups{Arms: arms, LimitedBy: limitedBy, Memory: all.memory, Files: all.files + spareFiles, FreeMemory: freeMemory, MaxFiles: maxFiles}
	fitted, err = Resolve(p.InGroups(arms))
	return fitted, groups, err
}
