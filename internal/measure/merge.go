package measure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Merge merges the measurements of callers that shared a load. Their Started times are from one
// clock. Counts and CPU times are added up and histograms are merged value by value. Timelines and
// first responses count from the earliest start. MaxRSS is the sum of the callers' peaks. A set of
// addresses counts as resolved when every caller has received it.
func Merge(all []Measurement) (Measurement, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	m := Measurement{
		Errors: map[string]uint64{}, Samples: map[string]string{}, Backends: map[string]uint64{}, FirstResponse: map[string]time.Duration{},
		Timeline: Timeline{Backends: map[string][]uint64{}, Errors: map[string][]uint64{}, Due: map[string][]uint64{}},
	}
	for i, one := range all {
		if i == 0 || one.Started.Before(m.Started) {
			m.Started = one.Started
		}
	}
	for _, one := range all {
		after := one.Started.Sub(m.Started)
		m.Elapsed = max(m.Elapsed, after+one.Elapsed)
		m.Calls += one.Calls
		m.Dropped += one.Dropped
		m.Late += one.Late
		m.CPU += one.CPU
		m.MaxRSS += one.MaxRSS
		m.Throttled += one.Throttled
		m.Stolen = max(m.Stolen, one.Stolen)
		addCounts(m.Errors, one.Errors)
		addCounts(m.Backends, one.Backends)
		for code, text := range one.Samples {
			m.Samples[code] = cmp.Or(m.Samples[code], text)
		}
		for id, first := range one.FirstResponse {
			if known, ok := m.FirstResponse[id]; !ok || after+first < known {
				m.FirstResponse[id] = after + first
			}
		}
		m.Timeline.add(one.Timeline, int((after+TimelineInterval/2)/TimelineInterval))
	}
	m.ResolverUpdates = commonUpdates(all)
	return m, m.mergeHistograms(all)
}

func (m *Measurement) mergeHistograms(all []Measurement) (err error) {
	for _, part := range []func(*Measurement) *string{
		func(m *Measurement) *string { return &m.Latency },
		func(m *Measurement) *string { return &m.Service },
		func(m *Measurement) *string { return &m.Lateness },
		func(m *Measurement) *string { return &m.Answers },
	} {
		var texts []string
		for i := range all {
			if text := *part(&all[i]); text != "" {
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
		if *part(m), err = encode(sum); err != nil {
			return err
		}
	}
	return nil
}

// MergeHistograms merges histograms that are encoded as in a [Measurement].
func MergeHistograms(texts []string) (*hdr.Histogram, error) {
	sum := Histogram()
	for _, text := range texts {
		h, err := hdr.Decode([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("a caller's histogram: %w", err)
		}
		if lost := sum.Merge(h); lost > 0 {
			return nil, fmt.Errorf("a caller's histogram: %d values are over %v", lost, MaxDuration)
		}
	}
	return sum, nil
}

// add adds a timeline that started later by a number of intervals.
func (t *Timeline) add(other Timeline, later int) {
	lines := func(into, from map[string][]uint64) {
		for name, line := range from {
			ours := into[name]
			sum(&ours, shifted(line, later))
			into[name] = ours
		}
	}
	lines(t.Backends, other.Backends)
	lines(t.Errors, other.Errors)
	lines(t.Due, other.Due)
	sum(&t.Late, shifted(other.Late, later))
	sum(&t.Lost, shifted(other.Lost, later))
}

func shifted(line []uint64, later int) []uint64 {
	if len(line) == 0 || later == 0 {
		return line
	}
	return slices.Concat(make([]uint64, later), line)
}

func addCounts(into, from map[string]uint64) {
	for name, n := range from {
		into[name] += n
	}
}

// commonUpdates returns the sets of addresses that all callers had at the same time, with the time at
// which the last caller received the set.
func commonUpdates(all []Measurement) (common []ResolverUpdate) {
	type update struct {
		ResolverUpdate
		caller int
	}
	var inOrder []update
	for i, one := range all {
		for _, received := range one.ResolverUpdates {
			inOrder = append(inOrder, update{received, i})
		}
	}
	slices.SortStableFunc(inOrder, func(a, b update) int { return a.At.Compare(b.At) })
	latest := map[int][]string{} // by caller
	for _, u := range inOrder {
		latest[u.caller] = u.Addrs
		differs := func(addrs []string) bool { return !slices.Equal(addrs, u.Addrs) }
		if len(latest) == len(all) && !slices.ContainsFunc(slices.Collect(maps.Values(latest)), differs) {
			common = append(common, u.ResolverUpdate)
		}
	}
	return common
}
