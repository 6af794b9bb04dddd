package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (p page) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What does a call cost rpclab, and other load generators?\n\n%s\n\nMade by `make bench-peers` on %s in %s, rounds: %d. %s.\n\n", p.answer(), p.Date, p.Took, p.Rounds, p.Machine)
	b.WriteString("Every generator makes a fixed number of calls, with the calls in flight of its table. CPU is the user and\nsystem time of its process, less that of a run with one call. The server's CPU is shown because the slower of\nthe two sets the calls/s. Figures are medians of the rounds, CPU with its range. In each round every generator\nruns once in every setting. Generators and servers share the machine.\n")
	for target, title := range []string{
		"## A minimal gRPC server\n\n`bench/answerer`: one thread, the same bytes for every call, one read and one write for all pending calls of a\nconnection.",
		"## A grpc-go server\n\n`rpclab server` without delay. It uses most of the CPU, so fewer responses arrive at the same time.",
		"## HTTP/1.1: a minimal server\n\n`bench/answerer -reply http`; a call is `GET /`. A connection carries one call at a time, and so do a read and\na write.",
		"## HTTP/1.1: Go's net/http\n\n`bench/webserver` with the same response.",
	} {
		b.WriteString("\n" + title + "\n")
		for _, s := range shapes(target) {
			p.table(&b, target, s)
		}
	}
	p.agrees(&b)
	p.stalled(&b)
	p.lateness(&b)
	p.goals(&b)
	b.WriteString("\n## The load generators\n\n")
	for _, g := range p.Peers {
		fmt.Fprintf(&b, "- **%s** (%s)", g.title(), g.Version)
		if !g.Timed {
			fmt.Fprintf(&b, ", %s calls a run", thousands(g.Calls))
		}
		if g.Note != "" {
			b.WriteString(": " + g.Note)
		}
		b.WriteString(".\n")
	}
	return b.String()
}

// answer begins the page.
func (p page) answer() string {
	var grpc, ofH2load, ofGHZ, http, ofWrk []float64
	for target := range targets {
		for _, s := range shapes(target) {
			of := func(generator string) float64 { return median(p.costsOf(generator, target, s), perCall) }
			if plain(target) {
				http, ofWrk = append(http, of(ours)), append(ofWrk, of(ours)/of("wrk"))
				continue
			}
			grpc, ofH2load, ofGHZ = append(grpc, of(ours)), append(ofH2load, of(ours)/of("h2load")), append(ofGHZ, of("ghz")/of(ours))
		}
	}
	return fmt.Sprintf("**A gRPC call costs `rpclab load` %s to %s µs of CPU time: %.2f to %.2f of h2load's, and 1/%.0f to 1/%.0f of ghz's. "+
		"An HTTP/1.1 request costs it %s to %s µs, %.2f to %.2f of wrk's.**",
		digits(slices.Min(grpc)), digits(slices.Max(grpc)), slices.Min(ofH2load), slices.Max(ofH2load), slices.Max(ofGHZ), slices.Min(ofGHZ),
		digits(slices.Min(http)), digits(slices.Max(http)), slices.Min(ofWrk), slices.Max(ofWrk))
}

// title distinguishes the two uses of a generator.
func (g generator) title() string {
	if g.Plain {
		return g.Name + " over HTTP/1.1"
	}
	return g.Name
}

func (p page) table(b *strings.Builder, target int, s shape) {
	base := "h2load"
	switch {
	case plain(target):
		base = "wrk"
		fmt.Fprintf(b, "\n%d connections:\n\n", s.Connections)
	case s.Connections == 1:
		b.WriteString("\n50 calls in flight over one connection:\n\n")
	default:
		fmt.Fprintf(b, "\n50 calls in flight over %d connections:\n\n", s.Connections)
	}
	fmt.Fprintf(b, "| | CPU µs per call | × %s | server CPU µs per call | calls/s | peak memory | start-up |\n|---|--:|--:|--:|--:|--:|--:|\n", base)
	reference := median(p.costsOf(base, target, s), perCall)
	for _, g := range generatorsFor(p.Peers, target) {
		costs := p.costsOf(g.Name, target, s)
		low, high := spread(costs, perCall)
		start := "–"
		if !g.Timed {
			start = fmt.Sprintf("%.0f ms", median(costs, func(c cost) float64 { return c.Start.Seconds() * 1000 }))
		}
		fmt.Fprintf(b, "| %s | %s (%s–%s) | %.2f | %s | %.0f | %.0f MB | %s |\n", g.Name, digits(median(costs, perCall)), digits(low), digits(high),
			median(costs, perCall)/reference, digits(median(costs, server)), median(costs, func(c cost) float64 { return c.Rate }),
			median(costs, func(c cost) float64 { return float64(c.Peak) / 1e6 }), start)
	}
}

func (p page) stalled(b *strings.Builder) {
	fmt.Fprintf(b, "\n## A server that stalls\n\nThe grpc-go server is stopped (SIGSTOP) for %s in a run of %s at %d calls/s. The true\npercentiles follow from the schedule: a call that is due during the stall waits for its end.\n\n", stallLasts, stallRun, stallRate)
	b.WriteString("| | reported p90 | true p90 | reported p99 | true p99 | answered |\n|---|--:|--:|--:|--:|--:|\n")
	for _, s := range p.Stalls {
		true90, true99 := trueQuantile(stallRate, stallRun, stallFrom, s.Lasted, 0.9), trueQuantile(stallRate, stallRun, stallFrom, s.Lasted, 0.99)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d |\n", s.Generator, short(s.Reported.p90), short(true90), short(s.Reported.p99), short(true99), s.Reported.answered)
	}
	fmt.Fprintf(b, "\n%d calls are due. A generator with fewer answers skipped calls that it could not make in time. During the\nstall, a generator that waits for responses has only its 50 calls in flight, one in a hundred. It measures the calls\nthat it sends too late from when it sent them. So its p99 may be right, but its p90 hides the stall.\n", stallRate*int(stallRun/time.Second))
}

func thousands(calls [2]int) string {
	if calls[0] == calls[1] {
		return fmt.Sprintf("%d,000", calls[0]/1000)
	}
	return fmt.Sprintf("%d,000 and %d,000", calls[0]/1000, calls[1]/1000)
}
