package analysis

import (
	"fmt"
	"math"
	"strings"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

const (
	// tooManyLost is the share of calls without an answer above which the latency of the
	// others does not represent the arm.
	tooManyLost = 0.01
	// mostThrottled is the share of the CPU time needed that a quota may take in an arm's
	// median trial: it slows those most that need most.
	mostThrottled = 0.05
	// mostStolen is the share that a hypervisor may take. Other machines slow both arms of a
	// round alike, so a little of it widens intervals and does not shift them.
	mostStolen = 0.2
	// leastSteps is how many steps of the clock a latency has to span.
	leastSteps = 100
)

// unfitPair says why two arms cannot be compared on a metric, whatever the numbers; "": they can.
func unfitPair(m metric, d result.Document, a, b result.Arm) string {
	if why := unfitArm(m, d, a); why != "" {
		return why
	}
	if why := unfitArm(m, d, b); why != "" {
		return why
	}
	return coarseSteps(m, a, b)
}

// unfitArm says why an arm's numbers do not represent it; "": they do.
func unfitArm(m metric, d result.Document, arm result.Arm) string {
	for _, guard := range []func(metric, result.Document, result.Arm) string{
		failedTrials, generatorLimited, lostCalls, tooFewCalls, coarseClock, interfered,
	} {
		if why := guard(m, d, arm); why != "" {
			return why
		}
	}
	return ""
}

// failedTrials: a round without a measurement is no pair.
func failedTrials(_ metric, _ result.Document, arm result.Arm) string {
	failed := 0
	for _, t := range arm.Trials {
		if t.Failed != "" {
			failed++
		}
	}
	if failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d rounds of %s gave no measurement", failed, len(arm.Trials), arm.Name)
}

func generatorLimited(_ metric, _ result.Document, arm result.Arm) string {
	if arm.Limited == "" {
		return ""
	}
	return fmt.Sprintf("%s was limited by the load generator: %s", arm.Name, arm.Limited)
}

func lostCalls(m metric, _ result.Document, arm result.Arm) string {
	if lost := arm.Lost(); m.answers && lost > tooManyLost {
		return fmt.Sprintf("%.1f %% of the calls of %s failed or were dropped; those that were answered do not represent it", 100*lost, arm.Name)
	}
	return ""
}

func tooFewCalls(m metric, d result.Document, arm result.Arm) string {
	if m.tail == 0 {
		return ""
	}
	fewest := uint64(math.MaxUint64)
	for _, t := range arm.Trials {
		if t.Failed == "" {
			fewest = min(fewest, t.Calls)
		}
	}
	if fewest == math.MaxUint64 || !verdict.TooFew(fewest, m.tail) {
		return ""
	}
	needed := math.Ceil(10/m.tail - 1e-6)
	name := strings.Replace(strings.TrimPrefix(m.name, "latency_"), "p999", "p99.9", 1)
	return fmt.Sprintf("a trial of %s has %d calls; %s needs %.0f, so that ten calls exceed it: %s",
		arm.Name, fewest, name, needed, moreCalls(d, arm, needed))
}

// moreCalls says how to make so many calls in a trial.
func moreCalls(d result.Document, arm result.Arm, needed float64) string {
	advice := "make more"
	if d.Quick {
		advice = "run it without --quick, or make more"
	}
	load, _ := arm.Config["load"].(map[string]any)
	closed, _ := load["closed"].(map[string]any)
	for path, said := range map[string]any{"load.burst": load["burst"], "load.sequence": load["sequence"], "load.closed.calls": closed["calls"]} {
		if _, swept := arm.Cell[path]; said != nil && !swept {
			advice += fmt.Sprintf(" (--set %s=%.0f)", path, needed)
		}
	}
	return advice
}

func coarseClock(m metric, d result.Document, arm result.Arm) string {
	if m.tail == 0 || d.Machine.ClockNS == 0 || arm.Latency.Empty() {
		return ""
	}
	if least := leastSteps * d.Machine.ClockNS / 1e6; arm.Latency.P50 < least {
		return fmt.Sprintf("the clock of this machine has steps of %.3g µs, too coarse for the %.3g µs of %s",
			d.Machine.ClockNS/1e3, arm.Latency.P50*1e3, arm.Name)
	}
	return ""
}

// coarseSteps: true values may differ by up to two steps where the measured ones differ by
// one or none.
func coarseSteps(m metric, a, b result.Arm) string {
	apart := math.Abs(verdict.Median(values(a, m.of)) - verdict.Median(values(b, m.of)))
	if m.step == 0 || !(apart <= 1.5*m.step) {
		return ""
	}
	return fmt.Sprintf("%s is measured in steps of %g ms, and the two differ by one step at most", m.name, m.step)
}

// interfered: a hypervisor or a quota took processors from the trials.
func interfered(_ metric, d result.Document, arm result.Arm) string {
	var stolen, throttled []float64
	for _, t := range arm.Trials {
		if t.Machine != nil {
			stolen, throttled = append(stolen, t.Machine.Stolen), append(throttled, t.Machine.Throttled)
		}
	}
	machine, limit := "machine", "the CPU limit of the control group"
	if d.Cluster == "kubernetes" {
		machine, limit = "cluster", "the CPU limit that the cluster gives its pods (LimitRange)"
	}
	var why []string
	if s := verdict.Median(stolen); s > mostStolen {
		why = append(why, fmt.Sprintf("other machines on this hardware took %.0f %% of the CPU time that trials of %s needed (steal): use a quieter %s", 100*s, arm.Name, machine))
	}
	if q := verdict.Median(throttled); q > mostThrottled {
		why = append(why, fmt.Sprintf("trials of %s were throttled: a quota took %.0f %% of the CPU time that they needed; raise %s", arm.Name, 100*q, limit))
	}
	return strings.Join(why, "; ")
}
