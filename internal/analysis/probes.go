package analysis

import (
	"cmp"
	"slices"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/result/condition"
	"rpclab/internal/verdict"
)

// ProbeLimit says how the load generator limited a probe of a search; "": not at all, or the objective was met all the same.
// An objective that was missed at a percentile is judged by the lateness at that percentile, too. One that was missed by
// the statuses of servers is not judged by lateness, which causes none. One that was met says nothing about the rate of the
// probe if half of the calls were sent so late that the generator made another rate.
func ProbeLimit(probe result.Trial, slo condition.Condition, due time.Duration) (limited string) {
	m := probe.Measures
	if m.Calls+m.Dropped == 0 { // it was stopped for as long as the probe took
		return "the load generator sent no call"
	}
	if len(slo.Check(m)) == 0 {
		if m.Lateness.P50 > mostLateOfWindow*result.Milliseconds(due) {
			return probe.Limited
		}
		return ""
	}
	if slo.FailsByStatus(m) {
		return ""
	}
	limited = probe.Limited
	for _, name := range slo.TooSlow(m) {
		if !m.Latency.Figure(name).Lower { // that of a lost call is its deadline, however late the call was sent
			limited = cmp.Or(limited, verdict.Late(metric{name: name}.short(), m.AnswersLateness().Figure(name).Value, m.Answers().Figure(name).Value))
		}
	}
	return limited
}

// AddProbe adds what happened to the machine and to backends during a probe to what happened during the probes before it.
func AddProbe(trial, probe result.Trial) result.Trial {
	for _, w := range probe.MachineWarnings {
		known := func(other result.MachineWarning) bool { return other.Kind == w.Kind && other.Process == w.Process }
		if w.Kind != result.MachineShared || !slices.ContainsFunc(trial.MachineWarnings, known) {
			trial.MachineWarnings = append(trial.MachineWarnings, w)
		}
	}
	if probe.Machine != nil {
		trial.Machine = interferenceOf([]result.Trial{trial, probe})
		trial.ElapsedMS += probe.ElapsedMS
	}
	for _, lost := range probe.Lost {
		if !slices.Contains(trial.Lost, lost) {
			trial.Lost = append(trial.Lost, lost)
		}
	}
	return trial
}
