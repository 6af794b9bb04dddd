package report

import (
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
)

func TestTheAnswerSummarizesTheVerdicts(t *testing.T) {
	some := func(d result.Document, verdicts ...result.Verdict) result.Document {
		d.Verdicts = verdicts
		return d
	}
	w := sampleArms()
	five, cell, more := small(5, w[0], w[1]), result.Cell{"load.burst": 1}, result.Cell{"load.burst": 2}
	most := result.Cell{"load.burst": 3}
	inTurns := small(6, w[0], w[1])
	inTurns.Design = "interleaved"
	tail := verdict("latency_p99", "a", cell, 1, .5, 2, "undecided", "baseline")
	median := verdict("latency_p50", "a", cell, 1, .5, 2, "undecided", "baseline")
	cpu := secondaryVerdict("client_cpu", "a", cell, 1, "equivalent")
	tail.Rounds, tail.Cycles, tail.Cause = 2, 6, &result.Cause{Kind: result.CauseRounds, Have: 2, Needed: 4, Groups: true}
	median.Rounds, median.Cycles, median.Cause = 12, 1, &result.Cause{Kind: result.CauseNotTested, Metric: "latency_p99"}
	cpu.Rounds, cpu.Cycles = 12, 1
	unfit := verdict("latency_p50", "c", cell, .03, 0, 0, "undecided", "baseline")
	unfit.Unfit = true
	capacity := verdict("capacity", "pool", nil, 1.4, 1.2, 1.6, "better", "baseline")
	for want, d := range map[string]result.Document{
		"At the median, new-channel is slower than shared (1.39 times as long); endpointslice is as fast as shared (−1.0 % to +2.0 %: no difference that matters); undecided for kuberesolver (−8.0 % to +11 %). " +
			"At p99, endpointslice is faster than shared (0.94 times as long); new-channel is slower than shared (1.85 times as long).": channels(),
		"At the median, a and b are faster than shared (0.50 and 0.40–0.60 times as long); c is slower than shared (2.00 times as long) at burst = 1; undecided for c at burst = 2 (−50 % to +200 %).": some(five,
			verdict("latency_p50", "a", cell, .5, .4, .6, "better", "baseline"), verdict("latency_p50", "b", cell, .4, .3, .5, "better", "baseline"),
			verdict("latency_p50", "b", more, .6, .5, .7, "better", "baseline"), verdict("latency_p50", "c", cell, 2, 1.5, 3, "worse", "baseline"),
			verdict("latency_p50", "c", more, 1, .5, 3, "undecided", "baseline")),
		"At the median, a is faster than shared (0.50 times as long) at burst = 3; a and b are slower than shared (2.00–3.00 and 2.00 times as long) at burst = 1 and 2; b is as fast as shared (−1.0 % to +1.0 %: no difference that matters) at burst = 3.": some(five,
			verdict("latency_p50", "a", cell, 2, 1.5, 3, "worse", "baseline"), verdict("latency_p50", "a", more, 3, 2, 4, "worse", "baseline"),
			verdict("latency_p50", "a", most, .5, .4, .6, "better", "baseline"), verdict("latency_p50", "b", cell, 2, 1.5, 3, "worse", "baseline"),
			verdict("latency_p50", "b", more, 2, 1.5, 3, "worse", "baseline"), verdict("latency_p50", "b", most, 1, .99, 1.01, "equivalent", "baseline")),
		"At p99, a is slower than shared (2.00 times as long).": some(five,
			verdict("latency_p50", "a", cell, 1, .5, 2, "undecided", "baseline"), verdict("latency_p99", "a", cell, 2, 1.5, 3, "worse", "baseline")),
		"At the median, b is faster than shared (at most 0.33 times as long); a is slower than shared (at least 3.00 times as long).": some(five,
			withBound(verdict("latency_p50", "b", cell, .33, .3, .4, "better", "baseline"), result.UpperBound),
			withBound(verdict("latency_p50", "a", cell, 3, 2.9, 3.1, "worse", "baseline"), result.LowerBound)),
		"pool has a higher capacity than shared (1.40 times as many calls a second).": some(five, capacity),
		"At the median, a is faster than shared (0.50 times as long); undecided for b (−50 % to +100 %); no verdict for c.": some(five,
			verdict("latency_p50", "a", cell, .5, .4, .6, "better", "baseline"), verdict("latency_p50", "b", cell, 1, .5, 2, "undecided", "baseline"), unfit),
		"No difference found between shared and any other arm: p50 between −50 % and +100 %; no verdict for c.": some(five,
			verdict("latency_p50", "a", cell, 1, .5, 2, "undecided", "baseline"), unfit),
		"No difference found between shared and any other arm: p50 between −50 % and +100 %.":         some(five, verdict("latency_p50", "a", cell, 1, .5, 2, "undecided", "baseline")),
		"No verdict: 2 rounds, and at least 4 are needed to tell a difference from chance.":           some(small(2, w[0], w[1]), verdict("latency_p50", "a", cell, 1, .5, 2, "undecided", "baseline")),
		"No verdict: 2 groups of cycles, and at least 4 are needed to tell a difference from chance.": some(inTurns, tail, median, cpu),
		"No verdict: no two arms were compared.":                                                      five,
		"958 calls/s: p50 702.4 ms, p99 981.2 ms, 0 of 1,000 calls failed.":                           some(small(5, w[0])),
		"Nothing was measured, so there is no answer.":                                                base("channels", "Which?"),
	} {
		if got := Answer(d); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestARunThatTheTimeLimitEndedSaysWhichLimitSuffices(t *testing.T) {
	w := sampleArms()
	for _, c := range []struct {
		quick bool
		flags string
	}{{false, "--for 2m24s"}, {true, "--quick --for 2m24s"}} {
		d := small(2, w[0], w[1])
		d.Quick, d.Ended, d.TimeLimitMS = c.quick, result.EndedTime, 60_000
		d.Finished = new(d.Started.Add(time.Minute))
		d.Verdicts = []result.Verdict{verdict("latency_p50", "a", result.Cell{"load.burst": 1}, 1, .5, 2, "undecided", "baseline")}
		want := "No verdict: only 2 rounds fit in the time limit, and at least 4 are needed to tell a difference from chance: use " + c.flags + "."
		if got := Answer(d); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestTheAnswerDoesNotNameManyCells checks that an answer merges the cells of arms where naming them would take many clauses.
func TestTheAnswerDoesNotNameManyCells(t *testing.T) {
	w := sampleArms()
	d := small(5, w[0], w[1])
	d.Verdicts = nil
	for i, arm := range []string{"a", "b", "c", "d"} { // each is faster up to another cell
		for burst := range 5 {
			v := verdict("latency_p50", arm, result.Cell{"load.burst": burst}, 2, 1.5, 3, "worse", "baseline")
			if burst <= i {
				v = verdict("latency_p50", arm, result.Cell{"load.burst": burst}, .5, .4, .6, "better", "baseline")
			}
			d.Verdicts = append(d.Verdicts, v)
		}
	}
	d.Verdicts = append(d.Verdicts, verdict("latency_p50", "e", result.Cell{"load.burst": 0}, 2, 1.5, 3, "worse", "baseline"))
	want := "At the median, e is slower than shared (2.00 times as long); " +
		"a (0.50–2.00 times as long), b (0.50–2.00), c (0.50–2.00) and d (0.50–2.00) are different by cell from shared."
	if got := Answer(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestTheAnswerSaysWhatManyCellsLeaveOpen checks that arms with one decision in some cells and none in others are not
// said to differ.
func TestTheAnswerSaysWhatManyCellsLeaveOpen(t *testing.T) {
	w := sampleArms()
	d := small(5, w[0], w[1])
	d.Verdicts = nil
	for i, arm := range []string{"a", "b", "c", "d"} { // each is as fast up to another cell
		for burst := range 5 {
			v := verdict("latency_p50", arm, result.Cell{"load.burst": burst}, 1, .8, 1.25, "undecided", "baseline")
			if burst <= i {
				v = verdict("latency_p50", arm, result.Cell{"load.burst": burst}, 1, .98, 1.02, "equivalent", "baseline")
			}
			d.Verdicts = append(d.Verdicts, v)
		}
	}
	want := "At the median, a, b, c and d are as fast as shared (−2.0 % to +2.0 %: no difference that matters) in some cells; " +
		"undecided for a, b, c and d in others (−20 % to +25 %)."
	if got := Answer(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	d.Verdicts = d.Verdicts[:5]
	if got, _ := differenceInWords(d, "a", "latency_p50", d.Verdicts); got != "the same or undecided: −20 % to +25 %" {
		t.Errorf("the table has %q", got)
	}
	for i := range d.Verdicts {
		d.Verdicts[i].B = "other"
	}
	d.Verdicts[0].Decision = "worse"
	if got, _ := differenceInWords(d, "a", "latency_p50", d.Verdicts); got != "slower than other or undecided: −20 % to +25 %" {
		t.Errorf("the table has %q", got)
	}
}

// An answer on more than two arms has the figure of each beside its name, and those of the largest differences first.
func TestTheAnswerOrdersManyArms(t *testing.T) {
	w := sampleArms()
	d := small(5, w[0], w[1])
	d.Verdicts = nil
	for i, ratio := range []float64{1.05, 15, 1.11, 10.8, 1.2, 1.3, 1.4} {
		d.Verdicts = append(d.Verdicts, verdict("client_cpu", string(rune('a'+i)), nil, ratio, ratio-.01, ratio+.01, "worse", "baseline"))
	}
	want := "b (15.0 times as much), d (10.8), g (1.40), f (1.30), e (1.20) and 2 others use more client CPU than shared."
	if got := Answer(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestTheAnswerBeginsWithTheHeadlineOfTheExperiment(t *testing.T) {
	w := sampleArms()
	d := small(5, w[0], w[1])
	d.Headline = []string{"client_cpu", "balance", "latency_p50"}
	d.Verdicts = []result.Verdict{
		verdict("latency_p50", "new-channel", nil, 2, 1.5, 3, "worse", "baseline"),
		verdict("client_cpu", "new-channel", nil, 15.9, 15, 17, "worse", "baseline"),
		verdict("balance", "new-channel", nil, 2.9, 2.8, 3, "better", "baseline"),
		verdict("client_cpu", "pool", nil, 1, 0.97, 1.04, "undecided", "baseline"),
	}
	want := "new-channel uses more client CPU than shared (15.9 times as much); undecided for pool (−3.0 % to +4.0 %). " +
		"new-channel balances calls more evenly than shared (2.90 times Jain's index)."
	if got := Answer(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A ratio of lost calls is a lower bound in sentences, tables and cards.
func TestARatioOfLostCallsIsABound(t *testing.T) {
	v := withBound(verdict("latency_p50", "a", result.Cell{"load.burst": 1}, 3, 2.9, 3.1, "worse", "baseline"), result.LowerBound)
	if got, want := sentenceOf(v, ""), "a is slower than shared at the median: at least 3.00 times as long (2.90–3.10)"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := ratioOfRuns(result.Ratio{Ratio: 3, Bound: result.LowerBound}); got != "≥ 3.00" {
		t.Errorf("the ratio of two runs is %s, want ≥ 3.00", got)
	}
	less := withBound(v, result.UpperBound)
	less.Ratio = 0.5
	exact := verdict("latency_p90", "a", nil, 1.2, 1, 2, "worse", "baseline")
	for want, cells := range map[string][]result.Verdict{
		"≥ 3.00 +": {v}, "≤ 0.50 +": {less}, "≤ 0.50–≥ 3.00 +": {v, less}, "1.20–≥ 3.00 +": {exact, v},
	} {
		for i := range cells {
			cells[i].Decision = "better"
		}
		if got, _ := ratioOverCells(cells); got != want {
			t.Errorf("the ratio over the cells is %s, want %s", got, want)
		}
	}
}

// An arm that lost its calls in one cell is not undecided there within the range of the other cells.
func TestACellWithoutAVerdictIsApartFromAnUndecidedOne(t *testing.T) {
	few, many := result.Cell{"load.closed.users": 1000}, result.Cell{"load.closed.users": 4000}
	d := result.Document{Baseline: "threads", Headline: []string{"rate"}, Rounds: 5}
	for _, name := range []string{"threads", "virtual", "grpc"} {
		for _, cell := range []result.Cell{few, many} {
			a := result.Arm{Name: name, Cell: cell, Measures: result.Measures{Calls: 100, Rate: 10}, Trials: make([]result.Trial, 5)}
			if name == "virtual" && len(d.Arms) == 3 {
				a.Errors = map[string]uint64{"DEADLINE_EXCEEDED": 100}
			}
			d.Arms = append(d.Arms, a)
		}
	}
	lost := verdict("rate", "virtual", many, 0.1, 0.1, 0.1, "undecided", "baseline")
	lost.Unfit, lost.Cause = true, &result.Cause{Kind: result.CauseLostCalls}
	d.Verdicts = []result.Verdict{verdict("rate", "virtual", few, 1.2, 0.9, 1.5, "undecided", "baseline"), lost,
		verdict("rate", "grpc", few, 2, 1.9, 2.1, "better", "baseline"), verdict("rate", "grpc", many, 2, 1.9, 2.1, "better", "baseline")}
	for i := range d.Verdicts {
		d.Verdicts[i].B, d.Verdicts[i].Rounds = "threads", 5
	}
	want := "undecided for virtual at users = 1,000 (−10 % to +50 %); no verdict for virtual at users = 4,000 (100 % of the calls were lost)."
	if got := Answer(d); !strings.HasSuffix(got, want) {
		t.Errorf("the answer is %q, want … %q", got, want)
	}
	if text, _ := differenceInWords(d, "virtual", "rate", d.Verdicts[:2]); text != "undecided or no verdict: −10 % to +50 %" {
		t.Errorf("the table has %q", text)
	}
}

func TestTheAnswerOfOneArmHasItsRate(t *testing.T) {
	d := channels()
	d.Arms, d.Verdicts = d.Arms[:1], nil
	for rate, want := range map[float64]string{0.4: "0.4 calls/s: p50 ", 1.5: "1.5 calls/s: ", 99.96: "100 calls/s: ", 958.3: "958 calls/s: ", 2000: "2,000 calls/s: "} {
		d.Arms[0].Rate = rate
		if got := Answer(d); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want that it begins with %q", got, want)
		}
	}
}

func TestTheTableOfRatesHasSmallOnes(t *testing.T) {
	a := channels().Arms[0]
	a.Rate, a.Errors, a.Window, a.Bound = 0.4, nil, nil, &result.Bound{Rate: 1.5}
	if row, _ := throughputRow(result.Document{}, a); row[1] != "0.4" || row[3] != "1.5" {
		t.Errorf("the row is %q, want 0.4 answered/s and a bound of 1.5", row)
	}
}

func TestAnAnswerNamesArmsWithoutAMeasurement(t *testing.T) {
	measured := result.Trial{Round: 1}
	measured.Calls = 10
	died := result.Trial{Round: 1, Failed: "the caller died 2 s into the load: exit status 2"}
	again := died
	again.Round = 2
	d := result.Document{Arms: []result.Arm{ // memory is up in two groups of arms
		{Name: "shared", Trials: []result.Trial{measured, again}}, {Name: "memory", Trials: []result.Trial{died, again, died, again}},
	}}
	d.Arms[0].Calls = 10
	const want = "memory gave no measurement in any of 2 rounds: the caller died 2 s into the load: exit status 2."
	if got := Answer(d); !strings.HasSuffix(got, " "+want) || strings.Contains(got, "shared gave") {
		t.Errorf("%q, want it to end with %q", got, want)
	}
	for _, other := range []string{"the caller died 3 s into the load: exit status 2", "no port is free"} {
		d.Arms[1].Trials[1].Failed = other
		if got := Answer(d); !strings.HasSuffix(got, "in any of 2 rounds, first: the caller died 2 s into the load: exit status 2.") {
			t.Errorf("%q, want it to call the first of two reasons the first", got)
		}
	}
}

func TestTheAnswerInFullHasALineForEachArm(t *testing.T) {
	w := sampleArms()
	one, two := result.Cell{"load.burst": 1}, result.Cell{"load.burst": 2}
	cells := small(5, w[0], w[1])
	other := verdict("latency_p50", "d", one, 1, .5, 2, "undecided", "baseline")
	other.B = "pool"
	cells.Verdicts = []result.Verdict{
		verdict("latency_p50", "a", one, .5, .4, .6, "better", "baseline"), verdict("latency_p50", "a", two, .5, .4, .6, "better", "baseline"),
		verdict("latency_p50", "c", one, 2, 1.5, 3, "worse", "baseline"), verdict("latency_p50", "c", two, 1, .5, 3, "undecided", "baseline"), other}
	for want, d := range map[string]result.Document{
		"Median:|new-channel is slower than shared (1.39 times as long).|endpointslice is as fast as shared (−1.0 % to +2.0 %: no difference that matters).|" +
			"kuberesolver: undecided against shared (−8.0 % to +11 %).|P99:|new-channel is slower than shared (1.85 times as long).|endpointslice is faster than shared (0.94 times as long).": channels(),
		"Median:|a is faster than shared (0.50 times as long).|c is slower than shared (2.00 times as long) at burst = 1; undecided at burst = 2 (−50 % to +200 %).|" +
			"d: undecided against pool (−50 % to +100 %).": cells,
		"Nothing was measured, so there is no answer.": base("channels", "Which?"),
	} {
		var texts []string
		for _, e := range InFull(d) {
			texts = append(texts, e.Text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
