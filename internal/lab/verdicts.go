package lab

import (
	"fmt"
	"math"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// tooManyLost is the share of calls without an answer from which the latency of the
// others no longer stands for the arm.
const tooManyLost = 0.01

// metrics are what arms are compared on, from each trial.
var metrics = []struct {
	name string
	of   func(result.Trial) float64
}{
	{"latency_p50", func(t result.Trial) float64 { return t.Latency.P50 }},
	{"latency_p99", func(t result.Trial) float64 { return t.Latency.P99 }},
}

// verdicts compares, in every cell, each arm with the baseline, each control with
// the arm that it repeats, and each published arm with its controlled one.
func verdicts(d result.Document) []result.Verdict {
	pairs := comparisons(d)
	var all []result.Verdict
	for _, p := range pairs {
		for _, metric := range metrics {
			v := verdict.Compare(paired(p.a, p.b, metric.of), verdict.Options{
				Family: len(pairs) * len(metrics), Seed: seed(d.Seed, "verdict"), LowerIsBetter: true,
			})
			r := result.Verdict{
				Metric: metric.name, A: p.a.Name, B: p.b.Name, Cell: p.a.Cell, Kind: p.kind,
				Ratio: v.Ratio, CI: v.CI, Level: v.Level, Decision: string(v.Decision), Rounds: v.Rounds, Reason: v.Reason,
			}
			if reason := unfit(p.a, p.b); reason != "" {
				r.Decision, r.Reason = string(verdict.Undecided), reason
			}
			all = append(all, r)
		}
	}
	return all
}

type comparison struct {
	a, b result.Arm
	kind string
}

func comparisons(d result.Document) []comparison {
	var all []comparison
	for _, a := range d.Arms {
		for _, b := range d.Arms {
			if a.Cell.Key() != b.Cell.Key() || a.Name == b.Name {
				continue
			}
			switch {
			case a.Control == b.Name:
				all = append(all, comparison{a, b, "control"})
			case a.Control == "" && b.Name == d.Baseline:
				all = append(all, comparison{a, b, "baseline"})
			case confounded(d, a.Name, b.Name):
				all = append(all, comparison{a, b, "confound"})
			}
		}
	}
	return all
}

func confounded(d result.Document, published, controlled string) bool {
	for _, c := range d.Confounds {
		if c.Published == published && c.Controlled == controlled {
			return true
		}
	}
	return false
}

// paired are the values of both arms in each round that either was measured in. A
// trial that gave none is NaN: the comparison says so rather than leave it out.
func paired(a, b result.Arm, of func(result.Trial) float64) []verdict.Pair {
	values := func(arm result.Arm) map[int]float64 {
		byRound := map[int]float64{}
		for _, t := range arm.Trials {
			byRound[t.Round] = math.NaN()
			if t.Failed == "" && t.Latency.HDR != "" {
				byRound[t.Round] = of(t)
			}
		}
		return byRound
	}
	as, bs := values(a), values(b)
	var pairs []verdict.Pair
	for _, t := range a.Trials {
		// A round that the run did not finish is not a pair.
		if _, both := bs[t.Round]; both {
			pairs = append(pairs, verdict.Pair{A: as[t.Round], B: bs[t.Round]})
		}
	}
	return pairs
}

// unfit says why two arms cannot be compared whatever their numbers are.
func unfit(a, b result.Arm) string {
	for _, arm := range []result.Arm{a, b} {
		if arm.Limited != "" {
			return fmt.Sprintf("%s was limited by the generator: %s", arm.Name, arm.Limited)
		}
		if lost := arm.Lost(); lost > tooManyLost {
			return fmt.Sprintf("%.1f %% of the calls of %s failed or were dropped; the latency of the others does not stand for it", 100*lost, arm.Name)
		}
	}
	return ""
}
