package analysis

import (
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// maxLatencyIntervals limits the size of a document: a load of 10 minutes has a point a second.
const maxLatencyIntervals = 600

// LatencyOverTime returns the latency by the second in which calls were due; nil: no call was due.
func LatencyOverTime(seen measure.Measurement) *result.LatencyOverTime {
	const perSecond = int(measure.LatencyInterval / measure.TimelineInterval)
	series := seen.Series
	for len(series)*perSecond < len(seen.Timeline.Lost) {
		series = append(series, measure.LatencyCounts{}) // every call of the last seconds was lost
	}
	if len(series) == 0 {
		return nil
	}
	series, interval := series.Intervals(maxLatencyIntervals)
	over := &result.LatencyOverTime{IntervalMS: interval.Milliseconds()}
	steps := int(interval / measure.TimelineInterval)
	for i, counts := range series {
		lost := sumOf(seen.Timeline.Lost, i*steps, (i+1)*steps)
		over.Calls = append(over.Calls, counts.Total()+lost)
		over.Lost = append(over.Lost, lost)
		over.P50 = append(over.P50, orNull(counts, 50, lost))
		over.P99 = append(over.P99, orNull(counts, 99, lost))
	}
	return over
}

func orNull(counts measure.LatencyCounts, p float64, lost uint64) *float64 {
	latency, ok := counts.Percentile(p, lost)
	if !ok {
		return nil
	}
	return new(result.Milliseconds(latency))
}
