package measure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Merge is what several callers that shared a load saw together, by one clock: their
// Started are compared. Counts and CPU time are added up, histograms merged value by
// value; timelines and firsts count from the earliest start. MaxRSS is the sum of the
// peaks, which need not have been at the same time: what the callers need at the most. A
// set of addresses counts as told when every caller knows it.
func Merge(all []Measurement) (Measurement, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	m := Measurement{
		Errors: map[string]uint64{}, Samples: map[string]string{}, Backends: map[string]uint64{}, First: map[string]time.Duration{},
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
		for id, first := range one.First {
			if known, ok := m.First[id]; !ok || after+first < known {
				m.First[id] = after + first
			}
		}
		m.Timeline.add(one.Timeline, int((after+Interval/2)/Interval))
	}
	m.Told = together(all)
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

// MergeHistograms adds up histograms in the encoding of a [Measurement].
func MergeHistograms(texts []string) (*hdr.Histogram, error) {
	sum := Histogram()
	for _, text := range texts {
		h, err := hdr.Decode([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("a caller's histogram: %w", err)
		}
		if lost := sum.Merge(h); lost > 0 {
			return nil, fmt.Errorf("a caller's histogram: %d values are over %v", lost, Longest)
		}
	}
	return sum, nil
}

// add adds a timeline that began so many steps later.
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

// together are the sets of addresses that all callers knew at the same time, from when
// the last one was told.
func together(all []Measurement) (agreed []Told) {
	type news struct {
		Told
		caller int
	}
	var inOrder []news
	for i, one := range all {
		for _, told := range one.Told {
			inOrder = append(inOrder, news{told, i})
		}
	}
	slices.SortStableFunc(inOrder, func(a, b news) int { return a.At.Compare(b.At) })
	knows := map[int][]string{}
	for _, n := range inOrder {
		knows[n.caller] = n.Addrs
		same := func(addrs []string) bool { return slices.Equal(addrs, n.Addrs) }
		if len(knows) == len(all) && !slices.ContainsFunc(slices.Collect(maps.Values(knows)), func(a []string) bool { return !same(a) }) {
			agreed = append(agreed, n.Told)
		}
	}
	return agreed
}
