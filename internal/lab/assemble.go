package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// Assemble makes of a document's trials everything that follows from them: each
// arm's merged measures, the verdicts, the events and the warnings. It is pure, so a
// run whose process was killed can be assembled later from its stored trials.
func Assemble(d result.Document) result.Document {
	d.Arms = slices.Clone(d.Arms)
	d.Events, d.Warnings = nil, nil
	for i := range d.Arms {
		arm := &d.Arms[i]
		takeFiles(arm)
		if err := merge(arm); err != nil {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s: %v", place(*arm), err))
		}
		for _, t := range arm.Trials {
			for _, e := range t.Events {
				e.Arm, e.Cell, e.Round = arm.Name, arm.Cell, t.Round
				d.Events = append(d.Events, e)
			}
		}
		d.Warnings = append(d.Warnings, warnings(*arm)...)
	}
	d.Verdicts, d.Accounts = verdicts(d), accounts(d)
	return d
}

// takeFiles moves the configuration files of the first trial that has some to the arm.
func takeFiles(arm *result.Arm) {
	arm.Trials = slices.Clone(arm.Trials)
	for i := range arm.Trials {
		if arm.Files == nil {
			arm.Files = arm.Trials[i].Files
		}
		arm.Trials[i].Files = nil
	}
}

// merge makes an arm's measures from its trials: counts are summed, histograms
// merged, balance pooled; elapsed and memory are the median and the largest.
func merge(arm *result.Arm) error {
	m := result.Measures{Errors: map[string]uint64{}, Samples: map[string]string{}, Backends: map[string]uint64{}}
	var latency, service, lateness, messages []result.Histogram
	var counts [][]uint64
	var elapsed []float64
	arm.Limited = ""
	for _, t := range arm.Trials {
		if t.Failed != "" {
			continue
		}
		m.Calls += t.Calls
		m.Late += t.Late
		m.Dropped += t.Dropped
		if t.Wasted != nil {
			m.Wasted = new(*t.Wasted + *cmp.Or(m.Wasted, new(uint64)))
		}
		for code, n := range t.Errors {
			m.Errors[code] += n
			if m.Samples[code] == "" {
				m.Samples[code] = t.Samples[code]
			}
		}
		for id, n := range t.Backends {
			m.Backends[id] += n
		}
		latency, service, lateness = append(latency, t.Latency), append(service, t.Service), append(lateness, t.Lateness)
		if t.Messages != nil {
			messages = append(messages, *t.Messages)
		}
		counts = append(counts, t.Groups...)
		elapsed = append(elapsed, t.ElapsedMS)
		spend(&m.Resources.Client, t.Resources.Client, t.Calls)
		spend(&m.Resources.Server, t.Resources.Server, t.Calls)
		spend(&m.Resources.Proxy, t.Resources.Proxy, t.Calls)
		spend(&m.Resources.Gateway, t.Resources.Gateway, t.Calls)
		spend(&m.Resources.Control, t.Resources.Control, t.Calls)
		if arm.Limited == "" {
			arm.Limited = t.Limited
		}
	}
	var errs [4]error
	m.Latency, errs[0] = result.Merge(latency)
	m.Service, errs[1] = result.Merge(service)
	m.Lateness, errs[2] = result.Merge(lateness)
	if len(messages) > 0 {
		m.Messages = new(result.Histogram)
		*m.Messages, errs[3] = result.Merge(messages)
	}
	m.Balance = balance(counts)
	m.ElapsedMS = verdict.Median(elapsed)
	if m.Calls > 0 {
		for _, u := range []*result.Usage{&m.Resources.Client, &m.Resources.Server, &m.Resources.Proxy, &m.Resources.Gateway, &m.Resources.Control} {
			u.CPU /= float64(m.Calls)
		}
		m.Rate = float64(m.Calls) / (sum(elapsed) / 1e3)
	}
	arm.Measures = m
	arm.Capacity = capacities(arm.Trials)
	reach(arm)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// spend adds to a sum of CPU time, not yet per call, what so many calls used.
func spend(sum *result.Usage, u result.Usage, calls uint64) {
	sum.CPU += u.CPU * float64(calls)
	sum.RSS = max(sum.RSS, u.RSS)
	sum.ThrottledMS += u.ThrottledMS
}

// mostSkew is how far apart callers may begin, in milliseconds.
const mostSkew = 10

func warnings(arm result.Arm) []string {
	var all []string
	for _, t := range arm.Trials {
		if t.Failed != "" {
			all = append(all, fmt.Sprintf("%s, round %d gave no measurement: %s", place(arm), t.Round, t.Failed))
		}
		for _, lost := range t.Lost {
			all = append(all, fmt.Sprintf("%s, round %d: %s", place(arm), t.Round, lost))
		}
		if skew := result.Skew(t.Callers); skew > mostSkew {
			all = append(all, fmt.Sprintf("%s, round %d: callers began their shares of the load %.0f ms apart; %d ms are allowed", place(arm), t.Round, skew, mostSkew))
		}
		for _, e := range t.Events {
			if e.Error != "" {
				all = append(all, fmt.Sprintf("%s, round %d: %s was not done: %s", place(arm), t.Round, e.What, e.Error))
			}
		}
	}
	unknown := slices.IndexFunc(arm.Trials, func(t result.Trial) bool { return t.Unknown != "" })
	if unknown >= 0 { // once: the next trial's reason is the same
		all = append(all, fmt.Sprintf("%s: %s", place(arm), arm.Trials[unknown].Unknown))
	}
	if why := byOwnLimit(arm); why != "" {
		all = append(all, place(arm)+": "+why)
	}
	return all
}

// place names an arm in its cell for people.
func place(arm result.Arm) string {
	if len(arm.Cell) == 0 {
		return arm.Name
	}
	return arm.Name + " at " + arm.Cell.String()
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return max(total, math.SmallestNonzeroFloat64)
}
