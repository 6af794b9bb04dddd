// Command aa compares an arm with itself many times, on real servers, and counts how often rpclab
// finds a difference, in runs of two equal arms and of five. It also compares an arm with one that is 5 % slower, and
// counts how often rpclab finds that: docs/findings/aa.md.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rpclab/bench/runs"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

//go:embed aa.yaml
var same []byte

//go:embed family.yaml
var family []byte

//go:embed ab.yaml
var slower []byte

func main() {
	log.SetFlags(log.Ltime)
	equal := flag.Int("equal", 60, "number of runs that compare two equal arms")
	families := flag.Int("families", 20, "number of runs that compare four arms with an equal baseline")
	different := flag.Int("different", 20, "number of runs that compare an arm with a slower one")
	out := flag.String("o", "docs/findings/aa.md", "the page to write")
	flag.Parse()
	if err := bench(*equal, *families, *different, *out); err != nil {
		log.Fatalf("bench-aa: %v", err)
	}
}

func bench(equal, families, different int, out string) error {
	if min(equal, families, different) < 1 {
		return fmt.Errorf("-equal %d -families %d -different %d: use 1 or more, because a page of no runs says nothing", equal, families, different)
	}
	rpclab, err := runs.Build()
	if err != nil {
		return err
	}
	defer rpclab.Remove()
	began := time.Now()
	aa, err := compare(rpclab, "aa.yaml", same, equal)
	if err != nil {
		return err
	}
	five, err := compare(rpclab, "family.yaml", family, families)
	if err != nil {
		return err
	}
	ab, err := compare(rpclab, "ab.yaml", slower, different)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(markdown(aa, five, ab, began)), 0o644)
}

// compare runs an experiment so many times, each with another seed.
func compare(rpclab *runs.Program, name string, experiment []byte, count int) (*comparisons, error) {
	file := filepath.Join(rpclab.Dir, name)
	if err := os.WriteFile(file, experiment, 0o644); err != nil {
		return nil, err
	}
	all := &comparisons{outcomes: map[string]*outcome{}}
	for seed := 1; seed <= count; seed++ {
		document, err := rpclab.Run(file, seed, "--rounds", "4")
		if err != nil {
			return nil, err
		}
		all.add(document)
		log.Printf("%d of %d: %s", seed, count, all.last)
	}
	return all, nil
}

// comparisons are the runs of one experiment.
type comparisons struct {
	count    int
	machine  result.Machine
	metrics  []string            // in the order of the result
	outcomes map[string]*outcome // by metric
	wrong    int                 // runs whose headline intervals show a difference
	called   int                 // runs whose headline verdicts call arms different
	seconds  []float64           // that each run lasted
	calls    []float64           // of each arm in a run
	others   []float64           // share of the CPU time that other programs used, in each trial
	last     string              // decisions of the last run, for the progress
}

// outcome counts the decisions on one metric.
type outcome struct {
	headline  bool
	decisions map[string]int
	apart     int // intervals without 1
	ratios    []float64
	widths    []float64 // half the interval's width, as a share
	values    []float64 // of an arm in a run: groups of cycles, or rounds
}

func (c *comparisons) add(d result.Document) {
	c.count++
	c.machine, c.last = d.Machine, ""
	if d.Finished != nil {
		c.seconds = append(c.seconds, d.Finished.Sub(d.Started).Seconds())
	}
	differ, called := false, false
	for _, v := range d.Verdicts {
		o := c.outcomes[v.Metric]
		if o == nil {
			o = &outcome{headline: !v.Secondary, decisions: map[string]int{}}
			c.outcomes[v.Metric], c.metrics = o, append(c.metrics, v.Metric)
		}
		o.decisions[v.Decision]++
		called = called || o.headline && (v.Decision == "better" || v.Decision == "worse")
		o.values = append(o.values, float64(v.Rounds))
		if v.Ratio > 0 && v.CI[0] > 0 {
			o.ratios, o.widths = append(o.ratios, v.Ratio), append(o.widths, math.Sqrt(v.CI[1]/v.CI[0])-1)
			if v.CI[0] > 1 || v.CI[1] < 1 {
				o.apart++
				differ = differ || o.headline
			}
		}
		if o.headline {
			c.last += fmt.Sprintf(" %s %s (%.3f, %.3f–%.3f)", v.Metric, v.Decision, v.Ratio, v.CI[0], v.CI[1])
		}
	}
	if differ {
		c.wrong++
	}
	if called {
		c.called++
	}
	for _, arm := range d.Arms {
		c.calls = append(c.calls, float64(arm.Calls))
		for _, t := range arm.Trials {
			if t.Machine != nil && t.Machine.Others != nil {
				c.others = append(c.others, *t.Machine.Others)
			}
		}
	}
}

func (c *comparisons) table() string {
	var b strings.Builder
	b.WriteString("| metric | values of an arm | interval without 1 | different | equivalent | undecided | ratio, median run | interval, median run |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, metric := range c.metrics {
		o := c.outcomes[metric]
		name := metric
		if o.headline {
			name = "**" + metric + "**"
		}
		ratio, width := "–", "–"
		if len(o.ratios) > 0 {
			ratio, width = fmt.Sprintf("%.3f", verdict.Median(o.ratios)), fmt.Sprintf("±%.1f %%", 100*verdict.Median(o.widths))
		}
		fmt.Fprintf(&b, "| %s | %.0f | %d | %d | %d | %d | %s | %s |\n", name, verdict.Median(o.values), o.apart, o.decisions["better"]+o.decisions["worse"], o.decisions["equivalent"], o.decisions["undecided"], ratio, width)
	}
	return b.String()
}

// The goals: wrong runs of 60 with equal arms, and found differences of 20.
const mostWrong, leastFound = 0.05, 0.8

// found is the number of runs that call the slower arm slower at p50.
func (c *comparisons) found() int {
	if p50 := c.outcomes["latency_p50"]; p50 != nil {
		return p50.decisions["worse"]
	}
	return 0
}

// answer begins the page.
func answer(aa, five, ab *comparisons) string {
	often := "At p50 and p99, a headline verdict was wrong in"
	if aa.wrong+five.called == 0 {
		often = "Never at p50 or p99: a headline verdict was wrong in"
	}
	return fmt.Sprintf("**%s %d of %d runs of two equal arms and in %d of %d runs of five. A server with a delay of 2.1 ms was called slower than one with 2.0 ms in %d of %d runs.**",
		often, aa.wrong, aa.count, five.called, five.count, ab.found(), ab.count)
}

func markdown(aa, five, ab *comparisons, began time.Time) string {
	var b strings.Builder
	command := fmt.Sprintf("go run ./bench/aa -equal %d -families %d -different %d", aa.count, five.count, ab.count)
	fmt.Fprintf(&b, "# How often does rpclab find a difference between an arm and itself?\n\n%s\n\n%s Other programs used %.0f %% of the CPU time in the median trial.\n\n"+
		"The arms of a run take turns in blocks of 0.1 s, between a grpc-go server and client, at 2,000 calls/s. An arm has a value for each cycle of blocks; "+
		"of p99 and p99.9 for each group of cycles with 1,000 or 10,000 calls, and a verdict needs four. An interval without 1 shows that two arms differ. "+
		"The decision is \"different\" if the measured difference also exceeds the margin of 3 %%. The rate is the one that was asked for, unless an arm cannot keep up.\n\n",
		answer(aa, five, ab), runs.MadeBy(command, began, aa.machine), 100*verdict.Median(slices.Concat(aa.others, five.others, ab.others)))
	fmt.Fprintf(&b, "## Equal arms\n\n%d runs of `bench/aa/aa.yaml`, of %.0f s and %.0f calls of each arm. An interval without 1 is wrong. "+
		"The headline metrics share 5 %% of error in a run; each of the other metrics has 5 %% of its own. Memory decides nothing: processes stay up in all rounds, so each arm has one value, and the interval is too narrow.\n\n%s\n",
		aa.count, verdict.Median(aa.seconds), verdict.Median(aa.calls), aa.table())
	fmt.Fprintf(&b, "Runs with a wrong headline interval: %d of %d. As a share of the runs, the goal of at most 3 of 60 is %s.\n\n", aa.wrong, aa.count, reached(float64(aa.wrong) <= mostWrong*float64(aa.count)))
	fmt.Fprintf(&b, "## Five equal arms\n\n%d runs of `bench/aa/family.yaml`, of %.0f s and %.0f calls of each arm. Four arms are compared with the baseline. "+
		"The promise is that all headline verdicts of a run are right in 95 %% of runs. The table has four verdicts of each run.\n\n%s\n",
		five.count, verdict.Median(five.seconds), verdict.Median(five.calls), five.table())
	fmt.Fprintf(&b, "Runs with a headline verdict that calls two of the arms different: %d of %d. As a share of the runs, the goal of at most 5 %% is %s.\n\n",
		five.called, five.count, reached(float64(five.called) <= mostWrong*float64(five.count)))
	found := ab.found()
	fmt.Fprintf(&b, "## A server with a delay of 2.0 ms and one of 2.1 ms\n\n%d runs of `bench/aa/ab.yaml`, of %.0f s and %.0f calls of each arm. The ratios are of the slower arm to the other.\n\n%s\n",
		ab.count, verdict.Median(ab.seconds), verdict.Median(ab.calls), ab.table())
	fmt.Fprintf(&b, "Runs that find the slower arm slower at p50: %d of %d. As a share of the runs, the goal of at least 16 of 20 is %s.\n", found, ab.count, reached(float64(found) >= leastFound*float64(ab.count)))
	return b.String()
}

func reached(goal bool) string {
	if goal {
		return "reached"
	}
	return "missed"
}
