package measure

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"rpclab/internal/result/failure"
)

// Merge merges the measurements of callers that shared a load. Their Started times must be from one
// clock. It adds counts and CPU times, and merges histograms value by value. It has no more error codes
// than a [Recorder]. Timelines and first responses count from the earliest start. MaxRSS is the sum of
// the callers' peaks. It is 0, and so is CPU, if one is not known because its process has ended. A resolver update counts from the time at which every caller has received it.
func Merge(all []Measurement) (Measurement, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	merged := Measurement{
		Errors: map[string]uint64{}, Samples: map[string]string{}, Backends: map[string]uint64{}, FirstResponse: map[string]time.Duration{},
		Timeline: Timeline{Backends: map[string][]uint64{}, Errors: map[string][]uint64{}, Due: map[string][]uint64{}},
	}
	for i, part := range all {
		if i == 0 || part.Started.Before(merged.Started) {
			merged.Started = part.Started
		}
	}
	for _, part := range all {
		after := part.Started.Sub(merged.Started)
		merged.Elapsed = max(merged.Elapsed, after+part.Elapsed)
		merged.Calls += part.Calls
		merged.Dropped += part.Dropped
		merged.Late += part.Late
		merged.Waited += part.Waited
		merged.Resent += part.Resent
		merged.Window = max(merged.Window, part.Window)
		merged.InWindow += part.InWindow
		merged.AnsweredInWindow += part.AnsweredInWindow
		merged.CPU += part.CPU
		if part.Connecting != nil {
			merged.Connecting = new(*part.Connecting + *cmp.Or(merged.Connecting, new(time.Duration)))
		}
		merged.MaxRSS += part.MaxRSS
		merged.Throttled += part.Throttled
		merged.Stolen = max(merged.Stolen, part.Stolen)
		addCounts(merged.Backends, part.Backends)
		for id, first := range part.FirstResponse {
			if known, ok := merged.FirstResponse[id]; !ok || after+first < known {
				merged.FirstResponse[id] = after + first
			}
		}
		merged.Series.merge(part.Series, int((after+LatencyInterval/2)/LatencyInterval))
		later := int((after + TimelineInterval/2) / TimelineInterval)
		merged.Timeline.add(part.Timeline, later)
		merged.addErrors(part, later)
	}
	if slices.ContainsFunc(all, func(part Measurement) bool { return part.MaxRSS == 0 }) {
		merged.CPU, merged.MaxRSS = 0, 0
	}
	merged.ResolverUpdates = commonUpdates(all)
	var err error
	merged.ByName, err = mergeByName(all)
	return merged, errors.Join(err, merged.mergeHistograms(all))
}

// addErrors adds the failed calls of a measurement whose timeline started a number of intervals later.
func (m *Measurement) addErrors(part Measurement, later int) {
	for _, code := range slices.Sorted(maps.Keys(part.Errors)) { // not at random, if there are too many
		to := failure.BoundedCode(m.Errors, code)
		m.Errors[to] += part.Errors[code]
		m.Samples[to] = cmp.Or(m.Samples[to], part.Samples[code])
		failure.AddAll(&m.Reasons, to, part.Reasons[code])
		line := m.Timeline.Errors[to]
		sum(&line, shifted(part.Timeline.Errors[code], later))
		m.Timeline.Errors[to] = line
	}
}

func (m *Measurement) mergeHistograms(all []Measurement) (err error) {
	for _, field := range []func(*Measurement) *string{
		func(m *Measurement) *string { return &m.Latency },
		func(m *Measurement) *string { return &m.Service },
		func(m *Measurement) *string { return &m.Lateness },
		func(m *Measurement) *string { return &m.AnsweredLateness },
		func(m *Measurement) *string { return &m.Answers },
	} {
		var texts []string
		for i := range all {
			if text := *field(&all[i]); text != "" {
				texts = append(texts, text)
			}
		}
		if len(texts) == 0 {
			continue // no call was a stream
		}
		sum, err := MergeHistograms(texts)
		if err != nil {
			return err
		}
		if *field(m), err = encode(sum); err != nil {
			return err
		}
	}
	return nil
}

// mergeByName merges the calls of several measurements by their names.
func mergeByName(all []Measurement) (map[string]NamedCalls, error) {
	var merged map[string]NamedCalls
	latencies := map[string][]string{}
	for _, m := range all {
		for name, c := range m.ByName {
			if merged == nil {
				merged = map[string]NamedCalls{}
			}
			sum, known := merged[name]
			if !known {
				sum.Errors = map[string]uint64{}
			}
			sum.Calls, sum.Dropped = sum.Calls+c.Calls, sum.Dropped+c.Dropped
			failure.AddCounts(sum.Errors, c.Errors)
			merged[name], latencies[name] = sum, append(latencies[name], c.Latency)
		}
	}
	for name, c := range merged {
		latency, err := MergeHistograms(latencies[name])
		if err != nil {
			return nil, err
		}
		if c.Latency, err = encode(latency); err != nil {
			return nil, err
		}
		merged[name] = c
	}
	return merged, nil
}

// add adds a timeline that started a number of intervals later, without its errors.
func (t *Timeline) add(other Timeline, later int) {
	lines := func(into, from map[string][]uint64) {
		for name, line := range from {
			ours := into[name]
			sum(&ours, shifted(line, later))
			into[name] = ours
		}
	}
	lines(t.Backends, other.Backends)
	lines(t.Due, other.Due)
	sum(&t.Late, shifted(other.Late, later))
	sum(&t.Lost, shifted(other.Lost, later))
}

// shifted returns a line with a number of empty intervals before it.
func shifted(line []uint64, later int) []uint64 {
	if len(line) == 0 || later == 0 {
		return line
	}
	return slices.Concat(make([]uint64, later), line)
}

// commonUpdates returns the sets of addresses that all callers had at the same time, with the time at
// which the last caller received the set.
func commonUpdates(all []Measurement) (common []ResolverUpdate) {
	type update struct {
		ResolverUpdate
		caller int
	}
	var inOrder []update
	for i, part := range all {
		for _, received := range part.ResolverUpdates {
			inOrder = append(inOrder, update{received, i})
		}
	}
	slices.SortStableFunc(inOrder, func(a, b update) int { return a.At.Compare(b.At) })
	latest := map[int][]string{} // by caller
	for _, received := range inOrder {
		latest[received.caller] = received.Addrs
		differs := func(addrs []string) bool { return !slices.Equal(addrs, received.Addrs) }
		if len(latest) == len(all) && !slices.ContainsFunc(slices.Collect(maps.Values(latest)), differs) {
			common = append(common, received.ResolverUpdate)
		}
	}
	return common
}
