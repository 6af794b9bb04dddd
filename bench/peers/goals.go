package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// lateness writes how late `rpclab load` makes calls.
func (p page) lateness(b *strings.Builder) {
	p50, low, high := p.lateRange()
	fmt.Fprintf(b, "\n## Lateness\n\nIn every round `rpclab load` makes %d calls/s for %s over 10 connections to the minimal server, and reports\nits lateness: the p99 of the time from when a call was due to when it was sent. The server uses another core.\n\n", lateRate, lateRun)
	fmt.Fprintf(b, "| p99 of lateness, median of the rounds | range | goal, on an idle core | |\n|--:|--:|--:|---|\n"+
		"| %s | %s–%s | under %s | %s |\n", micros(p50), micros(low), micros(high), micros(lateGoal), verdict(p50 < lateGoal))
}

// lateRange is the median and the range of the rounds.
func (p page) lateRange() (p50, low, high time.Duration) {
	late := slices.Sorted(slices.Values(p.Late))
	n := len(late)
	if n == 0 {
		return 0, 0, 0
	}
	return (late[(n-1)/2] + late[n/2]) / 2, late[0], late[n-1]
}

func micros(d time.Duration) string { return digits(d.Seconds()*1e6) + " µs" }

// goals compares with the goals: 35 % of h2load's CPU time, a sixtieth of ghz's, and wrk's.
func (p page) goals(b *strings.Builder) {
	b.WriteString("\n## Goals\n\ngRPC: at most 0.35 of h2load's CPU time a call and 1/60 of ghz's, in the same run:\n\n| | × h2load | | ghz ÷ rpclab | |\n|---|--:|---|--:|---|\n")
	for target, name := range []string{"answerer", "grpc-go"} {
		for _, s := range shapes(target) {
			cpu := median(p.costsOf(ours, target, s), perCall)
			share, sixtieth := cpu/median(p.costsOf("h2load", target, s), perCall), median(p.costsOf("ghz", target, s), perCall)/cpu
			fmt.Fprintf(b, "| %s, connections: %d | %.2f | %s | %.0f | %s |\n", name, s.Connections, share, verdict(share <= 0.35), sixtieth, verdict(sixtieth >= 60))
		}
	}
	b.WriteString("\nOver ten connections a read or a write carries at most five calls, and system calls are most of the cost, for\nghz too.\n")
	b.WriteString("\nHTTP/1.1: at most wrk's CPU time a request:\n\n| | × wrk | |\n|---|--:|---|\n")
	for i, name := range []string{"answerer", "net/http"} {
		target := plainAnswererTarget + i
		for _, s := range shapes(target) {
			share := median(p.costsOf(ours, target, s), perCall) / median(p.costsOf("wrk", target, s), perCall)
			fmt.Fprintf(b, "| %s, connections: %d | %.2f | %s |\n", name, s.Connections, share, verdict(share <= 1))
		}
	}
}

func verdict(reached bool) string {
	if reached {
		return "reached"
	}
	return "missed"
}
