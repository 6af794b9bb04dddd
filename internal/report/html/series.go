package html

import (
	"maps"
	"math"
	"slices"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// quantiles go by steps of a tenth of a decade, or a fifth where there are so many curves
// that the page would grow large.
func quantiles(curves int) []Num {
	const median = 3 // one call in 10^0.3 exceeds it
	var all []Num
	for k := range 51 {
		if curves <= 60 || k%2 == 0 || k == median {
			all = append(all, Num(math.Pow(10, float64(k)/10)))
		}
	}
	return all
}

func series(arm result.Arm, quantiles []Num) Series {
	latency := arm.Latency.Bounded()
	s := Series{Limited: arm.Limited != "", Lost: Num(latency.Lost), P50: Num(latency.P50), P99: Num(latency.P99), Rate: Num(arm.Answered()), Elapsed: Num(arm.ElapsedMS)}
	if !arm.Latency.Empty() {
		s.Curve = curve(arm, quantiles)
	}
	r := arm.Resources
	for _, c := range []struct {
		party string
		used  result.Usage
	}{{"client", r.Client}, {"gateway", r.Gateway}, {"proxy", r.Proxy}, {"server", r.Server}, {"control plane", r.Control}} {
		if c.used.CPU > 0 || c.used.RSS > 0 {
			s.Cost = append(s.Cost, Cost{Party: c.party, CPU: Num(c.used.CPU), MB: Num(float64(c.used.RSS) / 1e6)})
		}
	}
	if c := arm.Capacity; c != nil && c.Rate > 0 {
		s.Capacity = &Capacity{Rate: Num(c.Rate), Low: Num(c.Low), High: Num(c.High)}
	}
	return s
}

func curve(arm result.Arm, quantiles []Num) *Curve {
	c := &Curve{MS: values(arm.Latency, quantiles)}
	c.Low, c.High = slices.Clone(c.MS), slices.Clone(c.MS)
	trials := 0
	for _, t := range arm.Trials {
		if t.Failed != "" || t.Latency.Empty() {
			continue
		}
		trials++
		for i, v := range values(t.Latency, quantiles) {
			if i < len(c.MS) && !math.IsNaN(float64(v)) {
				c.Low[i], c.High[i] = min(c.Low[i], v), max(c.High[i], v)
			}
		}
	}
	if trials < 2 { // one round has no range
		c.Low, c.High = nil, nil
	}
	return c
}

// values are those of a histogram at the quantiles that its number of calls reaches, and
// where it holds its summary alone those of that, NaN between them.
func values(h result.Histogram, quantiles []Num) []Num {
	decoded, err := h.Decode()
	if err != nil {
		return summary(h.Bounded(), quantiles)
	}
	var all []Num
	for _, q := range quantiles {
		if float64(q) > float64(decoded.TotalCount()) {
			break
		}
		v := at(decoded, float64(q))
		if h.AtLeast(100 * (1 - 1/float64(q))) {
			v = min(v, h.Figure("max").Value)
		}
		all = append(all, Num(v))
	}
	return all
}

func at(h *hdr.PackedHistogram, quantile float64) float64 {
	if quantile <= 1 {
		return float64(h.Min()) / 1e6
	}
	return float64(h.ValueAtPercentile(100*(1-1/quantile))) / 1e6
}

func summary(h result.Histogram, quantiles []Num) []Num {
	all := make([]Num, 0, len(quantiles))
	for _, q := range quantiles {
		v := math.NaN()
		for _, known := range []struct{ at, v float64 }{{1, h.Min}, {2, h.P50}, {10, h.P90}, {20, h.P95}, {100, h.P99}, {1000, h.P999}} {
			if math.Abs(float64(q)/known.at-1) < 0.01 {
				v = known.v
			}
		}
		if q > 1001 {
			break
		}
		all = append(all, Num(v))
	}
	return all
}

// firstMeasured returns the first trial of an arm that has a measurement.
func firstMeasured(arm result.Arm) (t result.Trial) {
	if i := slices.IndexFunc(arm.Trials, func(t result.Trial) bool { return t.Failed == "" && len(t.Backends) > 0 }); i >= 0 {
		t = arm.Trials[i]
	}
	return t
}

func bars(calls map[string]uint64) (all []Bar) {
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		all = append(all, Bar{Backend: report.Clean(id), Calls: calls[id]})
	}
	return all
}

func studyFigures(figure result.Published, arm result.Arm) (all []StudyFigure) {
	for _, b := range []StudyFigure{
		{Metric: "elapsed, ms", Published: Num(figure.ElapsedMS), Measured: Num(arm.ElapsedMS)},
		{Metric: "calls/s", Published: Num(figure.Rate), Measured: Num(arm.Answered())},
		{Metric: "mean, ms", Published: Num(figure.Mean), Measured: Num(arm.Latency.Mean), Bound: arm.Latency.Figure("mean").Lower},
		{Metric: "p95, ms", Published: Num(figure.P95), Measured: Num(arm.Latency.Bounded().P95), Bound: arm.Latency.Figure("p95").Lower},
		{Metric: "server memory, MB", Published: Num(figure.RSS), Measured: Num(float64(arm.Resources.Server.RSS) / 1e6)},
	} {
		if b.Published > 0 && b.Measured > 0 {
			all = append(all, b)
		}
	}
	return all
}

// ViewOf returns the data of the charts of a run, which may be in progress.
func ViewOf(d result.Document) View {
	cells := d.ArmsByCell()
	v := View{Schema: Schema, Experiment: report.Clean(d.Experiment), Baseline: report.Clean(d.Baseline),
		Arms: []string{}, Cells: []Cell{}, Series: []Series{}, Effects: []Effect{}, Quantiles: quantiles(len(d.Arms))}
	place, arms := map[string]int{}, map[string]int{}
	timelines := map[string]map[string]result.Trial{}
	for i, in := range cells {
		place[in.Cell.Key()] = i
		v.Cells = append(v.Cells, Cell{Name: report.CellName(in.Cell), X: soleNumber(in.Cell)})
		timelines[in.Cell.Key()] = report.TimelineTrials(in.All)
	}
	for _, arm := range d.Arms {
		name := report.Clean(arm.Name)
		if _, known := arms[name]; !known {
			arms[name] = len(v.Arms)
			v.Arms = append(v.Arms, name)
		}
		s := series(arm, v.Quantiles)
		s.Arm, s.Cell = arms[name], place[arm.Cell.Key()]
		trial, ok := timelines[arm.Cell.Key()][arm.Name]
		if ok {
			s.Timeline = timeline(trial, maxSteps(len(d.Arms)))
		} else {
			trial = firstMeasured(arm)
		}
		if len(d.Arms) == 1 || len(trial.Events) > 0 {
			s.OverTime = overTime(trial)
		}
		s.Backends, s.Round = bars(trial.Backends), trial.Round
		s.Memory = memory(arm, maxSteps(len(d.Arms)))
		if figure, ok := report.PublishedFor(d, arm); ok {
			s.Published = studyFigures(figure, arm)
		}
		v.Series = append(v.Series, s)
	}
	for i, effects := range report.Effects(d) {
		for _, e := range effects {
			v.Effects = append(v.Effects, Effect{Arm: arms[report.Clean(e.Arm)], Cell: i, Index: e.Place, What: e.What, At: Num(e.At),
				Failed: e.Failed, ResolverUpdated: Num(e.ResolverUpdated), FirstCall: Num(e.FirstCall), BalancedAgain: Num(e.Balanced)})
		}
	}
	return v
}

// soleNumber is the value of the one field of a cell, nil where there is no one number.
func soleNumber(c result.Cell) *Num {
	if len(c) != 1 {
		return nil
	}
	for _, v := range c {
		switch v := v.(type) {
		case float64:
			n := Num(v)
			return &n
		case int:
			n := Num(v)
			return &n
		}
	}
	return nil
}
