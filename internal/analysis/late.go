package analysis

import (
	"cmp"
	"fmt"
	"math"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// limit says how the load generator limited the metric in an arm. Late calls limit a percentile, or the mean, if they can have
// changed it by more than the margin. A smaller change makes its interval wider.
func (m metric) limit(arm result.Arm, margin float64) string {
	if limited := m.limitOfTrials(arm); limited != "" {
		return limited
	}
	if r := m.raised(arm); r.within(margin) != r.most {
		return r.first
	}
	return ""
}

// limitOfTrials says how the load generator limited the metric in any trial of an arm. Late calls limit the rate of an open
// loop if they moved many calls out of the window. They limit percentiles and the mean in a way of their own (raised). A late
// call fails, arrives, and has its backend all the same.
func (m metric) limitOfTrials(arm result.Arm) (limited string) {
	late := false
	for _, t := range arm.Trials {
		byLateness := t.LimitedBy == result.LimitedByLateness
		paced := m.name == "rate" && t.Window != nil && isOpen(arm)
		if t.Limited != "" && !(byLateness && (m.anyTime || m.at != nil || paced)) {
			return t.Limited
		}
		late = late || byLateness
		if paced {
			limited = cmp.Or(limited, lateOfWindow(t))
		}
	}
	if late {
		return limited
	}
	return cmp.Or(limited, arm.Limited)
}

// mostLateOfWindow is by how much of the time of a load the 99th percentile of lateness may delay calls without a limit of
// the rate.
const mostLateOfWindow = 0.01

// lateOfWindow says how late the calls of a trial were, or returns "" if that left its rate as it is. Late calls may end
// after the window: at most those that are due in its last hundredth, and the latest 1 % of all. That is less than the margin.
func lateOfWindow(t result.Trial) string {
	if t.Lateness.P99 <= mostLateOfWindow*t.WindowMS() {
		return ""
	}
	return fmt.Sprintf("rpclab sent calls up to %.1f ms late (p99), in a load of %.4g ms", t.Lateness.P99, t.WindowMS())
}

func isOpen(arm result.Arm) bool {
	settings := arm.Settings()
	return settings.Open || settings.Load != nil && settings.Load.Open != nil
}

// raise is by how much late calls can have raised a percentile or the mean.
type raise struct {
	most     float64 // of the mean logarithm
	late, of int     // trials, or groups of cycles
	first    string  // how late the first of them was
}

// raised returns by how much calls that were sent late can have raised a percentile, or the mean, of an arm at most. Without lateness, a
// late trial would have had a lower value, and at worst the lowest of the trials that were on time. Calls that were late at
// another percentile, or that of lost calls, which count as their deadline, do not count.
func (m metric) raised(arm result.Arm) (r raise) {
	if m.at == nil {
		return r
	}
	var late []result.Trial
	lowest := math.Inf(1) // of the trials that were on time
	for _, t := range arm.Trials {
		if t.Failed != "" {
			continue
		}
		r.of++
		if why := m.late(arm, t); why != "" {
			late, r.first = append(late, t), cmp.Or(r.first, why)
		} else if value := m.of(t); value > 0 {
			lowest = min(lowest, value)
		}
	}
	r.late = len(late)
	for _, t := range late {
		value, could := m.of(t), lowest
		switch {
		case math.IsInf(lowest, 1): // none was on time
			could = 0
		case value <= lowest:
			could = max(0, value-m.at(t.AnswersLateness()))
		}
		r.most += math.Log(value/could) / float64(r.of)
	}
	return r
}

// late says how late the calls of a trial were at the percentile, or on average; "": they were on time.
func (m metric) late(arm result.Arm, t result.Trial) string {
	ofLost := m.tail > 0 && m.allDue && t.Latency.AtLeast(100*(1-m.tail))
	if ofLost || t.LimitedBy != result.LimitedByLateness && !arm.Scheduled() {
		return ""
	}
	return verdict.Late(m.short(), m.at(t.AnswersLateness()), m.at(t.Answers()))
}

// within returns by how much late calls can have raised the mean logarithm, or 0 if that is over the margin, so that the
// metric has no verdict.
func (r raise) within(margin float64) float64 {
	if r.most <= math.Log1p(cmp.Or(margin, verdict.DefaultMargin)) {
		return r.most
	}
	return 0
}

// note says that the interval allows for late calls in trials, or in groups of cycles.
func (r raise) note(m metric, arm result.Arm, cycles int) string {
	units := "rounds"
	if cycles > 0 {
		units = "groups of cycles"
	}
	return fmt.Sprintf("%s, in %d of %d %s of %s: that can have raised its %s by %.2g %%, for which the interval allows",
		r.first, r.late, r.of, units, arm.Name, m.short(), 100*math.Expm1(r.most))
}
