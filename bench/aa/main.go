// Aa compares an arm with itself many times, on real servers, and counts how often the
// lab calls them different: docs/findings/aa.md. Each comparison is a run of its own.
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

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

//go:embed aa.yaml
var experiment []byte

func main() {
	log.SetFlags(log.Ltime)
	comparisons := flag.Int("comparisons", 40, "runs; each compares two arms that are the same")
	out := flag.String("o", "docs/findings/aa.md", "the page to write")
	flag.Parse()
	if err := bench(*comparisons, *out); err != nil {
		log.Fatalf("bench-aa: %v", err)
	}
}

func bench(comparisons int, out string) error {
	dir, err := os.MkdirTemp("", "rpclab-aa-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	rpclab, file := filepath.Join(dir, "rpclab"), filepath.Join(dir, "aa.yaml")
	if text, err := exec.Command("go", "build", "-o", rpclab, "./cmd/rpclab").CombinedOutput(); err != nil {
		return fmt.Errorf("run it in the root of the repository: %w\n%s", err, text)
	}
	if err := os.WriteFile(file, experiment, 0o644); err != nil {
		return err
	}
	page := page{began: time.Now(), seen: map[string]*outcome{}}
	for seed := 1; seed <= comparisons; seed++ {
		text, err := exec.Command(rpclab, "run", file, "--seed", fmt.Sprint(seed), "--no-store", "--json", "-").Output()
		if err != nil {
			return fmt.Errorf("comparison %d: %w", seed, err)
		}
		var d result.Document
		if err := json.Unmarshal(text, &d); err != nil {
			return err
		}
		page.add(d)
		log.Printf("%d of %d: %s", seed, comparisons, page.last)
	}
	return os.WriteFile(out, []byte(page.markdown(comparisons)), 0o644)
}

// page is what all comparisons gave.
type page struct {
	began   time.Time
	machine result.Machine
	metrics []string // in the order of the result
	seen    map[string]*outcome
	last    string // what the last comparison said, for the progress
}

// outcome counts the decisions on one metric.
type outcome struct {
	headline  bool
	decisions map[string]int
	spread    []float64 // of the logarithm of the ratio from round to round, in each run
}

func (p *page) add(d result.Document) {
	p.machine, p.last = d.Machine, ""
	for _, v := range d.Verdicts {
		o := p.seen[v.Metric]
		if o == nil {
			o = &outcome{headline: !v.Secondary, decisions: map[string]int{}}
			p.seen[v.Metric], p.metrics = o, append(p.metrics, v.Metric)
		}
		o.decisions[v.Decision]++
		if o.headline {
			p.last += fmt.Sprintf(" %s %s (%.3f)", v.Metric, v.Decision, v.Ratio)
		}
	}
	for metric, of := range map[string]func(result.Trial) float64{
		"latency_p50": func(t result.Trial) float64 { return t.Latency.P50 },
		"latency_p99": func(t result.Trial) float64 { return t.Latency.P99 },
	} {
		var logs []float64
		for i, t := range d.Arms[1].Trials {
			logs = append(logs, math.Log(of(t)/of(d.Arms[0].Trials[i])))
		}
		// Of a difference of two alike: a trial has the √2-th part.
		p.seen[metric].spread = append(p.seen[metric].spread, stat.StdDev(logs, nil)/math.Sqrt2)
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
		o := p.seen[metric]
		different := o.decisions["better"] + o.decisions["worse"]
		name, noise := metric, ""
		if o.headline {
			name, noise = "**"+metric+"**", fmt.Sprintf("%.1f %%", 100*verdict.Median(o.spread))
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
