package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"rpclab/internal/result"
	"rpclab/internal/result/failure"
	"rpclab/internal/verdict"
)

// moveFiles moves the configuration files of the first trial with files to the arm.
func moveFiles(arm *result.Arm) {
	arm.Trials = slices.Clone(arm.Trials)
	for i := range arm.Trials {
		if arm.Files == nil {
			arm.Files = arm.Trials[i].Files
		}
		arm.Trials[i].Files = nil
	}
}

// mergeTrials sets an arm's measures from its trials: counts are summed, histograms merged, balance
// pooled; elapsed time is the median and memory the largest.
func mergeTrials(arm *result.Arm) error {
	m := result.Measures{Errors: map[string]uint64{}, Samples: map[string]string{}, Backends: map[string]uint64{}}
	var latency, answered, service, lateness, answeredLateness, messages []result.Histogram
	failed := false
	var counts [][]uint64
	var elapsed []float64
	var rates rates
	var wasted []*uint64
	var used [5]usageSum
	arm.Limited = ""
	for _, t := range arm.Trials {
		if t.Failed != "" {
			continue
		}
		m.Calls += t.Calls
		m.Late += t.Late
		m.Dropped += t.Dropped
		m.Waited += t.Waited
		m.Resent += t.Resent
		if t.Calls > 0 {
			wasted = append(wasted, t.Wasted)
		}
		for _, code := range slices.Sorted(maps.Keys(t.Errors)) { // not at random, if there are too many
			to := failure.BoundedCode(m.Errors, code)
			m.Errors[to] += t.Errors[code]
			if m.Samples[to] == "" {
				m.Samples[to] = t.Samples[code]
			}
			failure.AddAll(&m.Reasons, to, t.Reasons[code])
		}
		for id, n := range t.Backends {
			m.Backends[id] += n
		}
		latency, service, lateness = append(latency, t.Latency), append(service, t.Service), append(lateness, t.Lateness)
		answered = append(answered, t.Answers())
		answeredLateness = append(answeredLateness, t.AnswersLateness())
		failed = failed || t.AnsweredLateness != nil
		if t.Messages != nil {
			messages = append(messages, *t.Messages)
		}
		counts = append(counts, t.Groups...)
		elapsed = append(elapsed, t.ElapsedMS)
		rates.add(t.Measures)
		for i, u := range usages(&t.Resources) {
			used[i].add(*u, t.Calls)
		}
		if arm.Limited == "" {
			arm.Limited = t.Limited
		}
	}
	var errs [7]error
	m.Latency, errs[0] = result.Merge(latency)
	m.Service, errs[1] = result.Merge(service)
	m.Lateness, errs[2] = result.Merge(lateness)
	if len(messages) > 0 {
		m.Messages = new(result.Histogram)
		*m.Messages, errs[3] = result.Merge(messages)
	}
	if m.Latency.Lost > 0 {
		m.AnsweredLatency = new(result.Histogram)
		*m.AnsweredLatency, errs[4] = result.Merge(answered)
	}
	if failed {
		m.AnsweredLateness = new(result.Histogram)
		*m.AnsweredLateness, errs[5] = result.Merge(answeredLateness)
	}
	m.ByName, errs[6] = mergeNamed(arm.Trials)
	m.Balance = balance(counts)
	m.Wasted = knownSum(wasted)
	m.ElapsedMS = verdict.Median(elapsed)
	for i, u := range usages(&m.Resources) {
		*u = used[i].perCall()
	}
	m.Rate, m.Window = rates.merged()
	m.Kernel, m.JVM, m.ConnectingMS = mergeWork(arm.Trials)
	arm.Measures = m
	arm.Capacity = capacities(arm.Trials)
	arm.Followed = followTime(arm.Trials)
	setReached(arm)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// knownSum returns the sum; nil: a part of it is not known.
func knownSum(parts []*uint64) *uint64 {
	if len(parts) == 0 || slices.Contains(parts, nil) {
		return nil
	}
	var sum uint64
	for _, part := range parts {
		sum += *part
	}
	return &sum
}

// usages are the parts of resources.
func usages(r *result.Resources) []*result.Usage {
	return []*result.Usage{&r.Client, &r.Server, &r.Proxy, &r.Gateway, &r.Control}
}

// usageSum is of several trials. It leaves out a trial whose usage is not known, which is zero.
type usageSum struct {
	total result.Usage
	calls uint64
}

func (s *usageSum) add(u result.Usage, calls uint64) {
	if u == (result.Usage{}) {
		return
	}
	s.calls += calls
	s.total.CPU += u.CPU * float64(calls)
	s.total.RSS = max(s.total.RSS, u.RSS)
	s.total.ThrottledMS += u.ThrottledMS
}

func (s *usageSum) perCall() result.Usage {
	mean := s.total
	mean.CPU /= float64(max(s.calls, 1))
	return mean
}

// rates are sums over trials.
type rates struct {
	seconds, calls, answered float64
	window                   *result.Window
}

func (r *rates) add(m result.Measures) {
	seconds := m.RateMS() / 1e3
	r.seconds += seconds
	r.calls += m.Rate * seconds
	r.answered += m.Answered() * seconds
	if m.Window != nil {
		longest := *cmp.Or(r.window, m.Window)
		longest.DrainMS = max(longest.DrainMS, m.Window.DrainMS)
		r.window = &longest
	}
}

func (r *rates) merged() (perSecond float64, window *result.Window) {
	if r.seconds == 0 {
		return 0, nil
	}
	if r.window != nil {
		r.window.AnsweredRate = r.answered / r.seconds
	}
	return r.calls / r.seconds, r.window
}

// capacities summarizes the capacity searches of an arm; nil: its load is not a search.
func capacities(trials []result.Trial) *result.Capacities {
	var all *result.Capacities
	var rates []float64
	missed, above := 0, 0 // searches in which not even the lowest rate held, and in which even the highest did
	for _, t := range trials {
		if t.Capacity == nil {
			continue
		}
		if all == nil {
			all = &result.Capacities{}
		}
		rate := t.Capacity.Rate
		if lowestFailed(t) {
			missed, rates = missed+1, append(rates, 0)
		}
		if highestHolds(t) {
			above, rates = above+1, append(rates, math.Inf(1))
		}
		if t.Failed != "" || rate == 0 {
			continue
		}
		if all.Count == 0 {
			all.Low, all.High = rate, rate
		}
		all.Low, all.High = min(all.Low, rate), max(all.High, rate)
		all.Count++
		rates = append(rates, rate)
	}
	if 2*missed < len(rates) && 2*above < len(rates) {
		all.Rate = verdict.Median(rates)
	}
	return all
}

// place names an arm with its cell.
func place(arm result.Arm) string {
	if len(arm.Cell) == 0 {
		return arm.Name
	}
	return arm.Name + " at " + arm.Cell.String()
}
