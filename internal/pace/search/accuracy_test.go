package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"rpclab/internal/pace/search"
	"rpclab/internal/testkit"
)

// conditions are what disturbs the probes of a simulated system.
type conditions struct {
	short, full float64 // deviation of the limit from one probe to another
	spoiled     float64 // share of the probes that fail whatever their rate
}

// accuracy is that of many searches.
type accuracy struct {
	probes, time    float64 // mean; time in full-length probes, with the wait for queued calls
	within5, within float64 // shares of the searches whose estimate is within 5 %, or within 10 %
}

// simulate searches for limits between 200 and 50,000 calls/s. Short probes overestimate them by 5 %.
func simulate(t *testing.T, precision float64, c conditions, searches int) (a accuracy) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for range searches {
		limit := 200 * math.Pow(250, random.Float64())
		p := plan(precision)
		p.Start = p.From * math.Exp2(random.Float64())
		got, probes := runSearch(t, p, func(probe search.Probe) search.Outcome {
			threshold := 1.05 * limit * math.Exp(c.short*random.NormFloat64())
			if probe.Full {
				threshold = limit * math.Exp(c.full*random.NormFloat64())
			}
			return outcome(probe.Rate <= threshold && random.Float64() >= c.spoiled)
		})
		for _, probe := range probes {
			length := probe.Duration.Seconds() / full.Seconds()
			a.time += length + min(1, length*max(0, probe.Rate/limit-1))
		}
		a.probes += float64(len(probes))
		off := math.Abs(math.Log(got.Rate / limit))
		if off <= math.Log(1.05) {
			a.within5++
		}
		if off <= math.Log(1.1) {
			a.within++
		}
	}
	n := float64(searches)
	return accuracy{a.probes / n, a.time / n, a.within5 / n, a.within / n}
}

var noises = []conditions{
	{0, 0, 0}, {0.02, 0.01, 0}, {0.05, 0.02, 0}, {0.1, 0.05, 0},
	{0, 0, 0.05}, {0.02, 0.01, 0.05}, {0.05, 0.02, 0.05}, {0.1, 0.05, 0.05},
}

// before are the figures of the method of bisection that rpclab used first, by the same simulation.
var before = map[float64][]accuracy{
	0.02: {
		{12.73, 6.57, 1.000, 1.000},
		{13.01, 6.87, 1.000, 1.000},
		{13.39, 7.27, 0.988, 1.000},
		{13.66, 7.60, 0.780, 0.977},
		{13.07, 7.21, 0.849, 0.871},
		{13.26, 7.44, 0.847, 0.877},
		{13.45, 7.67, 0.836, 0.876},
		{13.66, 7.86, 0.648, 0.841},
	},
	0.1: {
		{10.34, 6.44, 1.000, 1.000},
		{10.33, 6.43, 0.958, 1.000},
		{10.23, 6.37, 0.875, 0.999},
		{10.20, 6.36, 0.658, 0.928},
		{10.52, 6.99, 0.864, 0.889},
		{10.57, 6.94, 0.831, 0.904},
		{10.52, 7.01, 0.750, 0.890},
		{10.48, 6.92, 0.546, 0.819},
	},
}

const page = "../../../docs/method/search.md"

// The tables of the page. -update computes and writes them all, in half a minute; without it only the rows of the
// strongest noise are computed.
func TestAccuracyTable(t *testing.T) {
	const searches = 2000
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, precision := range []float64{0.02, 0.1} {
		rows = append(rows, fmt.Sprintf("| precision %.0f %%: noise | spoiled | probes | time | within 5 %% | within 10 %% |", 100*precision), "|---|---|---|---|---|---|")
		for i, c := range noises {
			if !*testkit.Update && i < len(noises)-1 {
				continue
			}
			a := simulate(t, precision, c, searches)
			old := before[precision][i]
			row := fmt.Sprintf("| %.0f/%.0f %% | %.0f %% | %.1f (%.1f) | %.1f (%.1f) | %.1f %% (%.1f %%) | %.1f %% (%.1f %%) |",
				100*c.short, 100*c.full, 100*c.spoiled, a.probes, old.probes, a.time, old.time, 100*a.within5, 100*old.within5, 100*a.within, 100*old.within)
			rows = append(rows, row)
			if !*testkit.Update && !strings.Contains(string(text), row) {
				t.Errorf("the page has another row than the computed one; run with -update:\n%s", row)
			}
			if precision == 0.02 && a.within5 < 0.95 {
				t.Errorf("with noise of %.0f/%.0f %% and %.0f %% spoiled probes, %.1f %% of searches are within 5 %%, want 95 %%", 100*c.short, 100*c.full, 100*c.spoiled, 100*a.within5)
			}
			if precision == 0.1 && a.time > 1.05*old.time {
				t.Errorf("a quick search takes %.2f full-length probes with noise of %.0f/%.0f %% and %.0f %% spoiled, want at most 5 %% more than %.2f", a.time, 100*c.short, 100*c.full, 100*c.spoiled, old.time)
			}
		}
		rows = append(rows, "")
	}
	if *testkit.Update {
		writeTable(t, strings.Join(rows, "\n"))
	}
}

func writeTable(t *testing.T, table string) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- begin accuracy -->\n", "<!-- end accuracy -->"
	head, rest, _ := strings.Cut(string(raw), begin)
	_, tail, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no marks for the table", page)
	}
	if err := os.WriteFile(page, []byte(head+begin+table+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
