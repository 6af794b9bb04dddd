package html

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/result"
)

// spreadOver is a histogram of 1 ms, 2 ms … n ms.
func spreadOver(t *testing.T, n int) result.Histogram {
	t.Helper()
	h := hdr.NewPacked(1, 60_000_000_000, 3)
	for i := range n {
		if err := h.RecordValue(int64(i+1) * 1e6); err != nil {
			t.Fatal(err)
		}
	}
	return result.FromHDR(h)
}

func TestACurveHasTheQuantilesThatItsCallsSupport(t *testing.T) {
	arm := result.Arm{Name: "a", Measures: result.Measures{Latency: spreadOver(t, 1000)},
		Trials: []result.Trial{{Round: 1, Measures: result.Measures{Latency: spreadOver(t, 1000)}}, {Round: 2, Measures: result.Measures{Latency: spreadOver(t, 100)}}, {Failed: "no"}}}
	v := ViewOf(result.Document{Arms: []result.Arm{arm}})
	c := v.Series[0].Curve
	if n := len(c.MS); n != 31 {
		t.Fatalf("the curve of 1,000 calls has %d quantiles, want 31, up to p99.9", n)
	}
	if got := float64(c.MS[10]); math.Abs(got-900) > 2 || v.Quantiles[10] != 10 {
		t.Errorf("p90 is %g, want 900", got)
	}
	if low, high := float64(c.Low[10]), float64(c.High[10]); math.Abs(low-90) > 1 || math.Abs(high-900) > 2 {
		t.Errorf("p90 of single rounds is from %g to %g, want from 90 to 900", low, high)
	}
}

func TestADamagedHistogramIsReplacedByItsSummary(t *testing.T) {
	arm := result.Arm{Name: "a", Measures: result.Measures{Latency: result.Histogram{Min: 1, P50: 2, P90: 3, P95: 4, P99: 5, P999: 6, HDR: "damaged"}}}
	got, err := json.Marshal(ViewOf(result.Document{Arms: []result.Arm{arm}}).Series[0].Curve)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"ms":[1,null,null,2,null,null,null,null,null,null,3,null,null,4,null,null,null,null,null,null,5,null,null,null,null,null,null,null,null,null,6]}`; string(got) != want {
		t.Errorf("the curve is %s\nwant %s", got, want)
	}
}

func TestATimelineKeepsEveryCallInFewerSteps(t *testing.T) {
	counts := make([]uint64, 1000)
	for i := range counts {
		counts[i] = 2
	}
	line := &result.Timeline{IntervalMS: 100, Backends: map[string][]uint64{"b": counts}, Ready: make([]int, 1000)}
	c := timeline(result.Trial{Timeline: line}, 150)
	total := uint64(0)
	for _, n := range c.Backends[0].Calls {
		total += n
	}
	if total != 2000 || len(c.Backends[0].Calls) > 150 || c.Step != 700 || len(c.Ready) != len(c.Backends[0].Calls) {
		t.Errorf("%d calls in %d steps of %g ms and %d numbers of ready backends, want 2,000 calls in at most 150 steps of 700 ms", total, len(c.Backends[0].Calls), float64(c.Step), len(c.Ready))
	}
}

func TestMemoryKeepsItsMaximumAndItsEndsInFewerSteps(t *testing.T) {
	servers := make([]uint64, 300)
	for i := range servers {
		servers[i] = uint64(100+i) * 1e6
	}
	servers[151] = 900e6
	m := memory(result.Arm{Trials: []result.Trial{{Round: 1, Memory: &result.Memory{IntervalMS: 1000, Servers: servers}}}}, 150)
	if len(m.MB) != 150 || m.Step != 2000 || slices.Max(m.MB) != 900 || m.Start != 100 || m.End != 399 {
		t.Errorf("%d steps of %g ms with at most %g MB, from %g to %g MB; want 150 of 2,000 ms with at most 900 MB, from 100 to 399 MB",
			len(m.MB), float64(m.Step), float64(slices.Max(m.MB)), float64(m.Start), float64(m.End))
	}
}

func TestANumberHasFourDigitsAndNaNIsNull(t *testing.T) {
	got, err := json.Marshal([]Num{0.000123456, 123456, Num(math.NaN()), Num(math.Inf(1)), -2})
	if err != nil || string(got) != "[0.0001235,123500,null,null,-2]" {
		t.Errorf("the numbers are %s (error %v), want [0.0001235,123500,null,null,-2]", got, err)
	}
}

func TestAPercentileOfLostCallsIsABoundNextToThePublishedOne(t *testing.T) {
	figures := func(lost float64) []StudyFigure {
		return studyFigures(result.Published{P95: 3, Rate: 5}, result.Arm{Measures: result.Measures{Rate: 6, Latency: result.Histogram{P95: 900, Lost: lost}}})
	}
	want := []StudyFigure{{Metric: "calls/s", Published: 5, Measured: 6}, {Metric: "p95, ms", Published: 3, Measured: 900, Bound: true}}
	if got := figures(0.1); !slices.Equal(got, want) {
		t.Errorf("with a tenth of the calls lost the figures are %+v, want %+v", got, want)
	}
	if got := figures(0.01); got[1].Bound {
		t.Errorf("with one in a hundred calls lost p95 is a bound: %+v", got)
	}
}

// Calls that fail at once would look like a high rate.
func TestChartsHaveTheRateOfSuccessfulCalls(t *testing.T) {
	arm := result.Arm{Name: "a", Measures: result.Measures{Calls: 1000, Errors: map[string]uint64{"UNAVAILABLE": 900}, Rate: 500, Window: &result.Window{LengthMS: 2000, AnsweredRate: 50}}}
	if rate := ViewOf(result.Document{Arms: []result.Arm{arm}}).Series[0].Rate; rate != 50 {
		t.Errorf("the rate of the series is %g, want 50", float64(rate))
	}
	want := []StudyFigure{{Metric: "calls/s", Published: 60, Measured: 50}}
	if got := studyFigures(result.Published{Rate: 60}, arm); !slices.Equal(got, want) {
		t.Errorf("the figures are %+v, want %+v", got, want)
	}
}

// A chart marks the percentiles of lost calls as lower bounds.
func TestTheShareOfLostCallsIsPartOfTheView(t *testing.T) {
	lost := spreadOver(t, 100)
	lost.Lost = 0.25
	v := ViewOf(result.Document{Arms: []result.Arm{{Name: "a", Measures: result.Measures{Latency: lost}}, {Name: "b", Measures: result.Measures{Latency: spreadOver(t, 100)}}}})
	if v.Series[0].Lost != 0.25 || v.Series[1].Lost != 0 {
		t.Errorf("the shares of lost calls are %g and %g, want 0.25 and 0", float64(v.Series[0].Lost), float64(v.Series[1].Lost))
	}
}

// A page with many curves has fewer quantiles, but shows the median and p99 of each.
func TestManyCurvesHaveAMedian(t *testing.T) {
	for _, q := range []float64{2, 10, 100, 1000} {
		if !slices.ContainsFunc(quantiles(61), func(n Num) bool { return math.Abs(float64(n)/q-1) < 0.01 }) {
			t.Errorf("the quantiles %v lack the one that one call in %g exceeds", quantiles(61), q)
		}
	}
	if few, many := len(quantiles(60)), len(quantiles(61)); many > few*3/5 {
		t.Errorf("%d quantiles of 61 curves, and %d of 60", many, few)
	}
}

// The chart of a latency shows no lost call after its deadline, as the tables do.
func TestACurveEndsAtTheDeadlineOfLostCalls(t *testing.T) {
	lost, err := spreadOver(t, 100).CountLost(50, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	s := ViewOf(result.Document{Arms: []result.Arm{{Name: "a", Measures: result.Measures{Latency: lost}}}}).Series[0]
	if last := s.Curve.MS[len(s.Curve.MS)-1]; s.P99 != 30_000 || last != 30_000 || s.P50 > 100 {
		t.Errorf("p50 is %g, p99 %g and the end of the curve %g ms, want under 100, 30,000 and 30,000", float64(s.P50), float64(s.P99), float64(last))
	}
}
