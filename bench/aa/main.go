// Command aa compares an arm with itself many times, on real servers, and counts how often rpclab
// finds a difference: docs/findings/aa.md. Each comparison is a run.
package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

//go:embed aa.yaml
var experiment []byte

func main() {
	log.SetFlags(log.Ltime)
	comparisons := flag.Int("comparisons", 40, "number of runs; each compares two equal arms")
	out := flag.String("o", "docs/findings/aa.md", "the page to write")
	flag.Parse()
	if err := bench(*comparisons, *out); err != nil {
		log.Fatalf("bench-aa: %v", err)
	}
}

func bench(comparisons int, out string) error {
	dir, err := process.NewTempDir()
	if err != nil {
		return err
	}
	defer func() { _ = dir.Remove() }()
	rpclab, file := filepath.Join(dir.Path, "rpclab"), filepath.Join(dir.Path, "aa.yaml")
	if text, err := exec.Command("go", "build", "-o", rpclab, "./cmd/rpclab").CombinedOutput(); err != nil {
		return fmt.Errorf("build rpclab: %w: run this in the root of the repository\n%s", err, text)
	}
	if err := os.WriteFile(file, experiment, 0o644); err != nil {
		return err
	}
	page := page{began: time.Now(), outcomes: map[string]*outcome{}}
	for seed := 1; seed <= comparisons; seed++ {
		text, err := exec.Command(rpclab, "run", file, "--seed", fmt.Sprint(seed), "--no-store", "--json", "-").Output()
		if err != nil {
			return fmt.Errorf("comparison %d: %w", seed, err)
		}
		var document result.Document
		if err := json.Unmarshal(text, &document); err != nil {
			return err
		}
		page.add(document)
		log.Printf("%d of %d: %s", seed, comparisons, page.last)
	}
	return os.WriteFile(out, []byte(page.markdown(comparisons)), 0o644)
}

// page is the results of all comparisons.
type page struct {
	began    time.Time
	machine  result.Machine
	metrics  []string            // in the order of the result
	outcomes map[string]*outcome // by metric
	last     string              // decisions of the last comparison, for the progress
}

// outcome counts the decisions on one metric.
type outcome struct {
	headline  bool
	decisions map[string]int
	noise     []float64 // of a trial, in each run: standard deviation of the logarithm of the metric
}

func (p *page) add(d result.Document) {
	p.machine, p.last = d.Machine, ""
	for _, v := range d.Verdicts {
		o := p.outcomes[v.Metric]
		if o == nil {
			o = &outcome{headline: !v.Secondary, decisions: map[string]int{}}
			p.outcomes[v.Metric], p.metrics = o, append(p.metrics, v.Metric)
		}
		o.decisions[v.Decision]++
		if o.headline {
			p.last += fmt.Sprintf(" %s %s (%.3f)", v.Metric, v.Decision, v.Ratio)
		}
	}
	for metric, value := range map[string]func(result.Trial) float64{
		"latency_p50": func(t result.Trial) float64 { return t.Latency.P50 },
		"latency_p99": func(t result.Trial) float64 { return t.Latency.P99 },
	} {
		var logs []float64
		for i, t := range d.Arms[1].Trials {
			logs = append(logs, math.Log(value(t)/value(d.Arms[0].Trials[i])))
		}
		// The difference of two trials has √2 times the deviation of one.
		p.outcomes[metric].noise = append(p.outcomes[metric].noise, stat.StdDev(logs, nil)/math.Sqrt2)
	}
}

func (p *page) markdown(comparisons int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# How often does rpclab find a difference between an arm and itself?\n\nMade by `make bench-aa` on %s in %s: %d runs of `bench/aa/aa.yaml`. Each run has two equal arms,\n"+
		"6 rounds and 20,000 calls a trial by 10 users, between a grpc-go server and client. %d CPUs (%s), Linux %s, %s.\n\n",
		p.began.UTC().Format(time.DateOnly), time.Since(p.began).Round(time.Second), comparisons,
		p.machine.CPUs, p.machine.Model, strings.SplitN(p.machine.Kernel, "-", 2)[0], p.machine.Go)
	b.WriteString("A decision that they differ is wrong. The headline metrics share 5 % of error in a run; each of\nthe other metrics has 5 % of its own.\n\n" +
		"| metric | found different | equivalent | undecided | noise of a trial, median run |\n|---|--:|--:|--:|--:|\n")
	wrong := 0
	for _, metric := range p.metrics {
		o := p.outcomes[metric]
		different := o.decisions["better"] + o.decisions["worse"]
		name, noise := metric, ""
		if o.headline {
			name, noise = "**"+metric+"**", fmt.Sprintf("%.1f %%", 100*verdict.Median(o.noise))
			wrong += different
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s |\n", name, different, o.decisions["equivalent"], o.decisions["undecided"], noise)
	}
	goal := "reached"
	if wrong > 2 {
		goal = "missed"
	}
	fmt.Fprintf(&b, "\nWrong headline decisions: %d of %d comparisons. The goal of at most 2 of 40 is %s.\n", wrong, comparisons, goal)
	return b.String()
}
