package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rpclab/internal/measure"
	"rpclab/internal/process/running"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// docs/decisions/0030-busy-machines.md has the reasons for these limits.
const (
	// mostOthers is the share of all CPU time that other programs may use without a warning.
	mostOthers = 0.2
	// mostOthersBetweenRuns is the share above which runs are not compared. The runs are not paired, so a
	// different share in the other run would look like a difference between the arms.
	mostOthersBetweenRuns = 0.5
	// mostIdle is the share of one processor that an arm may use while other arms take their turns.
	mostIdle = 0.05
)

// Shared are the warnings about other runs that used the machine during a trial.
func Shared(others []running.Run) (all []result.MachineWarning) {
	for _, run := range others {
		all = append(all, result.MachineWarning{Kind: result.MachineShared, Process: run.String(), Text: "another rpclab run used this machine: " + run.String()})
	}
	return all
}

// Stalls are the warnings about what a heartbeat detected during a trial.
func Stalls(stalls []measure.Stall) (all []result.MachineWarning) {
	for _, s := range stalls {
		w := result.MachineWarning{Kind: result.MachineWarningKind(s.Kind), Process: s.Name, DurationMS: result.Milliseconds(s.Duration)}
		w.Text = stallInWords(w.Kind, []string{s.Name}, w.DurationMS, "")
		all = append(all, w)
	}
	return all
}

// stallInWords says what happened to processes. upTo precedes a time that is the longest of several.
func stallInWords(kind result.MachineWarningKind, processes []string, milliseconds float64, upTo string) string {
	names, was, it := processes[0], "was", "it"
	if last := len(processes) - 1; last > 0 {
		names, was, it = strings.Join(processes[:last], ", ")+" and "+processes[last], "were", "they"
	}
	took := fmt.Sprintf("%s%.1f s", upTo, milliseconds/1e3)
	return map[result.MachineWarningKind]string{
		result.ProcessFrozen:  names + " " + was + " frozen for " + took + ", and not by the experiment (SIGSTOP or a debugger)",
		result.ProcessStarved: names + " got almost no CPU time for " + took + ", although " + it + " waited for a CPU",
		result.RpclabStopped:  "rpclab itself did not run for " + took + " (it was stopped, or got no CPU time)",
		result.ClockJumped:    fmt.Sprintf("the clock of this machine jumped by %s%+.1f s (it was set, or the machine was suspended)", upTo, milliseconds/1e3),
	}[kind]
}

// MachineWarnings collects the warnings about the machine: those of the whole run, then those of
// single arms.
func MachineWarnings(d result.Document) (all []result.MachineWarning) {
	return slices.Concat(busyMachine(d), sharedMachine(d), busyIdleArms(d), crowdedArms(d), stalledArms(d))
}

// stalledArms warns of what heartbeats detected in the trials of arms.
func stalledArms(d result.Document) (all []result.MachineWarning) {
	for _, arm := range d.Arms {
		for _, w := range stallsOf(arm) {
			if d.TrialCount > 1 {
				rounds := w.Rounds
				if len(rounds) == 0 {
					rounds = []int{w.Round}
				}
				w.Text = fmt.Sprintf("%s, %s: %s", place(arm), result.RoundsInWords(rounds), w.Text)
			}
			all = append(all, w)
		}
	}
	return all
}

// stallsOf has one warning for each kind of stall in the trials of an arm.
func stallsOf(arm result.Arm) (all []result.MachineWarning) {
	byKind := map[result.MachineWarningKind][]result.MachineWarning{}
	var kinds []result.MachineWarningKind
	for _, t := range arm.Trials {
		for _, w := range t.MachineWarnings {
			if w.Kind == result.MachineShared {
				continue
			}
			if byKind[w.Kind] == nil {
				kinds = append(kinds, w.Kind)
			}
			w.Arm, w.Cell, w.Round = arm.Name, arm.Cell, t.Round
			byKind[w.Kind] = append(byKind[w.Kind], w)
		}
	}
	for _, kind := range kinds {
		all = append(all, mergeWarnings(byKind[kind]))
	}
	return all
}

// mergeWarnings returns one warning for several of the same kind and arm, at least one.
func mergeWarnings(all []result.MachineWarning) result.MachineWarning {
	w := all[0]
	if len(all) == 1 {
		return w
	}
	var processes []string
	for _, one := range all {
		if !slices.Contains(processes, one.Process) {
			processes = append(processes, one.Process)
		}
		if !slices.Contains(w.Rounds, one.Round) {
			w.Rounds = append(w.Rounds, one.Round)
		}
		if math.Abs(one.DurationMS) > math.Abs(w.DurationMS) {
			w.DurationMS = one.DurationMS
		}
	}
	slices.Sort(processes)
	slices.Sort(w.Rounds)
	w.Text = stallInWords(w.Kind, processes, w.DurationMS, "up to ")
	w.Process = strings.Join(processes, ", ")
	return w
}

// othersOf returns the share of all CPU time that other programs used in each trial; none: not known.
func othersOf(arms []result.Arm) (shares []float64) {
	for _, arm := range arms {
		for _, t := range arm.Trials {
			if t.Machine != nil && t.Machine.Others != nil {
				shares = append(shares, *t.Machine.Others)
			}
		}
	}
	return shares
}

// busyMachine warns of other programs that used CPU time in the median trial, or very much in one.
func busyMachine(d result.Document) []result.MachineWarning {
	shares := othersOf(d.Arms)
	if len(shares) == 0 {
		return nil
	}
	median, most := verdict.Median(shares), slices.Max(shares)
	w := result.MachineWarning{Kind: result.MachineBusy, Share: median}
	const advice = "so calls take longer and vary more; use a quiet machine"
	switch {
	case median >= mostOthers && len(shares) == 1:
		w.Text = fmt.Sprintf("other programs used %.0f %% of the CPU time, %s", 100*median, advice)
	case median >= mostOthers:
		w.Text = fmt.Sprintf("other programs used %.0f %% (median trial) to %.0f %% of the CPU time, %s", 100*median, 100*most, advice)
	case most >= mostOthersBetweenRuns:
		w.Text = fmt.Sprintf("other programs used %.0f %% of the CPU time in one trial (median trial: %.0f %%)", 100*most, 100*median)
	default:
		return nil
	}
	return []result.MachineWarning{w}
}

// busyIdleArms warns of arms that used CPU time while other arms took their turns.
func busyIdleArms(d result.Document) (all []result.MachineWarning) {
	for _, arm := range d.Arms {
		var shares []float64
		for _, t := range arm.Trials {
			if t.IdleCPU != nil {
				shares = append(shares, *t.IdleCPU)
			}
		}
		if len(shares) == 0 {
			continue
		}
		if share := verdict.Median(shares); share > mostIdle {
			all = append(all, result.MachineWarning{Kind: result.IdleArmBusy, Arm: arm.Name, Cell: arm.Cell, Share: share, Text: fmt.Sprintf(
				"%s used %.0f %% of a CPU while other arms took their turns, so it may have slowed them: use design: isolated", place(arm), 100*share)})
		}
	}
	return all
}

// crowdedArms warns of arms that ran at the same time and needed much of the CPU time.
func crowdedArms(d result.Document) (all []result.MachineWarning) {
	warned := map[string]bool{}
	for _, arm := range d.Arms {
		if share := busyTogether(d, arm); share >= warnBusyTogether && !warned[arm.Key().Cell] {
			warned[arm.Key().Cell] = true
			all = append(all, result.MachineWarning{Kind: result.ArmsCrowded, Cell: arm.Cell, Share: share, Text: strings.TrimPrefix(fmt.Sprintf(
				"%s: two arms ran at the same time, and %.0f %% of the CPU time was in use, so each may have slowed the other: use a lower load, or design: interleaved", arm.Cell, 100*share), ": ")})
		}
	}
	return all
}

// sharedMachine warns once of each other run, with the number of trials that it may have disturbed.
func sharedMachine(d result.Document) (all []result.MachineWarning) {
	trials, shared := 0, map[string]int{}
	var runs []string
	for _, arm := range d.Arms {
		trials += len(arm.Trials)
		for _, t := range arm.Trials {
			for _, w := range t.MachineWarnings {
				if w.Kind != result.MachineShared {
					continue
				}
				if shared[w.Process] == 0 {
					runs = append(runs, w.Process)
				}
				shared[w.Process]++
			}
		}
	}
	for _, run := range runs {
		during := ""
		if trials > 1 {
			during = fmt.Sprintf(" in %d of %d trials", shared[run], trials)
		}
		all = append(all, result.MachineWarning{Kind: result.MachineShared, Process: run, Text: fmt.Sprintf("another rpclab run used this machine%s: %s", during, run)})
	}
	return all
}

// busyRuns returns the share of other programs in the compared arms of each run, warnings about what
// else used their machines, and why the runs cannot be compared.
func busyRuns(a, b result.Document, pairs []armPair) (others [2]*float64, warnings []string, why reason) {
	var shares [2][]float64
	for _, p := range pairs {
		shares[0] = append(shares[0], othersOf([]result.Arm{p.a})...)
		shares[1] = append(shares[1], othersOf([]result.Arm{p.b})...)
	}
	busy, text := false, [2]string{"not known", "not known"}
	for i, run := range []string{"A", "B"} {
		if len(shares[i]) == 0 {
			continue
		}
		share := verdict.Median(shares[i])
		others[i], text[i] = &share, fmt.Sprintf("%.0f %%", 100*share)
		busy = busy || share >= mostOthers
		if share >= mostOthersBetweenRuns && why.text == "" {
			why = reason{fmt.Sprintf("in %s, other programs used %.0f %% of the CPU time, and from %.0f %% on runs are not compared: repeat it on a quiet machine, or use --allow busy",
				run, 100*share, 100*mostOthersBetweenRuns), result.Cause{Kind: result.CauseInterference, Run: run, Share: share}}
		}
	}
	if busy {
		warnings = append(warnings, fmt.Sprintf("other programs used CPU time: %s in A, %s in B (median trials)", text[0], text[1]))
	}
	for _, run := range []struct {
		name string
		d    result.Document
	}{{"A", a}, {"B", b}} {
		for _, w := range slices.Concat(sharedMachine(run.d), stalledArms(run.d)) {
			warnings = append(warnings, "in "+run.name+", "+w.Text)
		}
	}
	return others, warnings, why
}
