package lab

import (
	"fmt"
	"math"
	"strings"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

const (
	// tooManyLost is the share of calls without an answer from which the latency of the
	// others no longer stands for the arm.
	tooManyLost = 0.01
	// mostThrottled is the share of the processors' time wanted that a quota may take in
	// an arm's median trial: it hits those most that want most.
	mostThrottled = 0.05
	// mostStolen is the share that a hypervisor may take. What neighbours take falls on
	// both arms of a round alike, so a little of it costs sureness and not truth.
	mostStolen = 0.2
	// leastSteps is how many steps of the clock a latency has to have.
	leastSteps = 100
)

// unfit says why two arms cannot be compared on a metric whatever their numbers are.
func unfit(m metric, d result.Document, p comparison) string {
	if why := unfitArm(m, d, p.a); why != "" {
		return why
	}
	if why := unfitArm(m, d, p.b); why != "" {
		return why
	}
	return bySteps(m, p.a, p.b)
}

// unfitArm says why the numbers of one do not stand for it.
func unfitArm(m metric, d result.Document, arm result.Arm) string {
	for _, guard := range []func(metric, result.Document, result.Arm) string{
		byFailure, byGenerator, byLosses, byFewCalls, byClock, byOthers,
	} {
		if why := guard(m, d, arm); why != "" {
			return why
		}
	}
	return ""
}

// byFailure: trials that gave nothing leave pairs that are none.
func byFailure(_ metric, _ result.Document, arm result.Arm) string {
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

func byGenerator(_ metric, _ result.Document, arm result.Arm) string {
	if arm.Limited == "" {
		return ""
	}
	return fmt.Sprintf("%s was limited by the generator: %s", arm.Name, arm.Limited)
}

func byLosses(m metric, _ result.Document, arm result.Arm) string {
	if lost := arm.Lost(); m.answers && lost > tooManyLost {
		return fmt.Sprintf("%.1f %% of the calls of %s failed or were dropped; those that were answered do not stand for it", 100*lost, arm.Name)
	}
	return ""
}

func byFewCalls(m metric, d result.Document, arm result.Arm) string {
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
	return fmt.Sprintf("a trial of %s has %d calls; %s needs %.0f, so that ten lie beyond it: %s",
		arm.Name, fewest, name, needed, moreCalls(d, arm, needed))
}

// moreCalls says how an arm gets so many in a trial.
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

func byClock(m metric, d result.Document, arm result.Arm) string {
	if m.tail == 0 || d.Machine.ClockNS == 0 || arm.Latency.Empty() {
		return ""
	}
	if least := leastSteps * d.Machine.ClockNS / 1e6; arm.Latency.P50 < least {
		return fmt.Sprintf("the clock of this machine goes in steps of %.3g µs, too coarse for the %.3g µs of %s",
			d.Machine.ClockNS/1e3, arm.Latency.P50*1e3, arm.Name)
	}
	return ""
}

// bySteps is about values that are a step apart, or none, and may be apart by anything
// up to two.
func bySteps(m metric, a, b result.Arm) string {
	apart := math.Abs(verdict.Median(values(a, m.of)) - verdict.Median(values(b, m.of)))
	if m.step == 0 || !(apart <= 1.5*m.step) {
		return ""
	}
	return fmt.Sprintf("%s is measured in steps of %g ms, and the two are no more than one apart", m.name, m.step)
}

// byOthers is about the processors that the machine's owner gave to somebody else.
func byOthers(_ metric, d result.Document, arm result.Arm) string {
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
		why = append(why, fmt.Sprintf("other machines on this hardware had %.0f %% of the processors' time that was wanted in trials of %s (steal): use a quieter %s", 100*s, arm.Name, machine))
	}
	if q := verdict.Median(throttled); q > mostThrottled {
		why = append(why, fmt.Sprintf("trials of %s were throttled: a quota took %.0f %% of the processors' time that they wanted; raise %s", arm.Name, 100*q, limit))
	}
	return strings.Join(why, "; ")
}

// byOwnLimit is about the quota that the experiment gives its backends: it may be the
// question, so what was decided stands.
func byOwnLimit(arm result.Arm) string {
	server, _ := arm.Config["server"].(map[string]any)
	cpus, _ := server["cpus"].(float64)
	if cpus == 0 {
		return ""
	}
	var throttled []float64
	for _, t := range arm.Trials {
		used := t.Resources.Server
		had := used.CPU * float64(t.Calls) / 1e3
		throttled = append(throttled, used.ThrottledMS/max(used.ThrottledMS+had, 1e-6))
	}
	q := verdict.Median(throttled)
	if !(q > mostThrottled) {
		return ""
	}
	return fmt.Sprintf("its servers were throttled: their quota (server.cpus: %v) took %.0f %% of the processors' time that they wanted; unless that is what is asked, raise server.cpus", cpus, 100*q)
}

// doubtControls takes the decisions on a metric in a cell back in which a control was
// called different from its twin: the lab saw a difference where there is none.
func doubtControls(all []result.Verdict) {
	type place struct{ metric, cell string }
	crying := map[place]string{}
	for _, v := range all {
		if v.Kind == "control" && (v.Decision == string(verdict.Better) || v.Decision == string(verdict.Worse)) {
			crying[place{v.Metric, v.Cell.Key()}] = fmt.Sprintf(
				"the control %s, which is %s once more, was called different too (ratio %.3g): run again with more rounds", v.A, v.B, v.Ratio)
		}
	}
	for i := range all {
		why, cried := crying[place{all[i].Metric, all[i].Cell.Key()}]
		if cried && all[i].Kind != "control" && all[i].Decision != string(verdict.Undecided) {
			all[i].Decision, all[i].Reason = string(verdict.Undecided), why
		}
	}
}
