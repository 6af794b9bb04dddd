package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// agrees writes what the generators reported, and how far they differ from `rpclab load`.
func (p page) agrees(b *strings.Builder) {
	if len(p.Agreements) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Do they agree?\n\nEvery generator keeps 20 calls in flight to a server that waits %s before each response: `rpclab server --delay`,\nas in the experiment channels, and with `--model rest`, as in ladder. So all should report about %s and\n%.0f calls/s. Medians of %d rounds.\n",
		agreeDelay, agreeDelay, 20/agreeDelay.Seconds(), min(p.Rounds, agreeRounds))
	for _, rest := range []bool{false, true} {
		title := map[bool]string{false: "gRPC, over 10 connections", true: "REST, over 20 connections"}[rest]
		fmt.Fprintf(b, "\n%s:\n\n| | p50 | × %s | p99 | calls/s |\n|---|--:|--:|--:|--:|\n", title, ours)
		own := p.reported(ours, rest).p50
		for _, g := range p.Peers {
			if g.agree == nil || g.Plain != rest {
				continue
			}
			m := p.reported(g.Name, rest)
			fmt.Fprintf(b, "| %s | %s | %.2f | %s | %.0f |\n", g.Name, short(m.p50), m.p50.Seconds()/own.Seconds(), short(m.p99), m.rate)
		}
	}
	most, name := p.farthest()
	fmt.Fprintf(b, "\nAt p50 the figures differ by at most %.1f %% from those of `%s` (%s). What differs is the time that a generator\nitself needs: a call is timed from when the program makes it to when the program reads the answer, and a program that\nuses more CPU time for a call reads it later. In an open loop they do not agree, which the next section shows.\n", 100*most, ours, name)
}

// reports are the medians of what a generator reported.
type reports struct {
	p50, p99 time.Duration
	rate     float64
}

func (p page) reported(name string, rest bool) reports {
	var p50, p99, rate []float64
	for _, a := range p.Agreements {
		if a.Generator == name && a.REST == rest {
			p50, p99, rate = append(p50, a.Reported.p50.Seconds()), append(p99, a.Reported.p99.Seconds()), append(rate, a.Rate)
		}
	}
	duration := func(values []float64) time.Duration { return time.Duration(middle(values) * float64(time.Second)) }
	return reports{duration(p50), duration(p99), middle(rate)}
}

// farthest returns the greatest difference at p50 from `rpclab load`, as a share, and the generator that has it.
func (p page) farthest() (most float64, name string) {
	for _, a := range p.Agreements {
		own := p.reported(ours, a.REST).p50.Seconds()
		if off := math.Abs(p.reported(a.Generator, a.REST).p50.Seconds()/own - 1); off > most || name == "" {
			most, name = off, a.Generator
		}
	}
	return most, name
}

// middle is the median; 0 of no values.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
