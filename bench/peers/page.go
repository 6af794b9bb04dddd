package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// page is all that docs/results/peers.md is drawn from.
type page struct {
	Peers         []generator
	Costs         []cost
	Late          []time.Duration // of each round
	Stalls        []stall
	Rounds        int
	Machine, Date string
	Took          time.Duration
}

func (p page) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What a call costs the load generator\n\nMade by `make bench-peers` on %s in %s, rounds: %d. %s.\n\n", p.Date, p.Took, p.Rounds, p.Machine)
	b.WriteString("Every generator makes a fixed number of calls, as many at a time as its table says. CPU is that\n" +
		"of its process, user and system, as the kernel counts it, less that of a run with one call; the\n" +
		"server's own stands beside it, since whoever of the two takes more sets the calls/s. All\n" +
		"figures are medians of the rounds, CPU with its range; in each round every generator runs once\n" +
		"in every setting. Generators and servers share the machine.\n")
	for target, title := range []string{
		"## The fastest answerer at hand\n\n`bench/answerer`: one thread, the same bytes for every call, a read and a write for all that\na connection has asked.",
		"## A grpc-go server\n\n`rpclab server` without delay. It takes most of the CPU, and fewer answers come at once.",
		"## HTTP/1.1: the fastest answerer at hand\n\n`bench/answerer -reply http`, to which a call is `GET /`. A connection carries one call at a time, so\na read and a write of the client carry one, too.",
		"## HTTP/1.1: Go's net/http\n\n`bench/webserver`, which answers the same.",
	} {
		b.WriteString("\n" + title + "\n")
		for _, s := range shapes(target) {
			p.table(&b, target, s)
		}
	}
	p.stalled(&b)
	p.punctual(&b)
	p.goals(&b)
	b.WriteString("\n## The generators\n\n")
	for _, g := range p.Peers {
		b.WriteString("- " + g.title() + " " + g.Version)
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

// title tells those that are compared twice apart.
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
	fmt.Fprintf(b, "| | CPU µs per call | × %s | the server's | calls/s | peak memory | start-up |\n|---|--:|--:|--:|--:|--:|--:|\n", base)
	one := median(p.of(base, target, s), perCall)
	for _, g := range of(p.Peers, target) {
		costs := p.of(g.Name, target, s)
		low, high := spread(costs, perCall)
		start := "–"
		if !g.Timed {
			start = fmt.Sprintf("%.0f ms", median(costs, func(c cost) float64 { return c.Start.Seconds() * 1000 }))
		}
		fmt.Fprintf(b, "| %s | %s (%s–%s) | %.2f | %s | %.0f | %.0f MB | %s |\n", g.Name, digits(median(costs, perCall)), digits(low), digits(high),
			median(costs, perCall)/one, digits(median(costs, server)), median(costs, func(c cost) float64 { return c.Rate }),
			median(costs, func(c cost) float64 { return float64(c.Peak) / 1e6 }), start)
	}
}

func (p page) stalled(b *strings.Builder) {
	fmt.Fprintf(b, "\n## A server that stalls\n\nThe grpc-go server is stopped (SIGSTOP) for %s in a run of %s at %d calls/s. What a user who calls at\n"+
		"that rate sees follows from the schedule: a call that is due in the stall waits for its end.\n\n", stallLasts, stallRun, stallRate)
	b.WriteString("| | p90 it reports | true p90 | p99 it reports | true p99 | answered |\n|---|--:|--:|--:|--:|--:|\n")
	for _, s := range p.Stalls {
		true90, true99 := truth(stallRate, stallRun, stallFrom, s.Lasted, 0.9), truth(stallRate, stallRun, stallFrom, s.Lasted, 0.99)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d |\n", s.Generator, short(s.Reported.p90), short(true90), short(s.Reported.p99), short(true99), s.Reported.answered)
	}
	fmt.Fprintf(b, "\n%d calls are due. Whoever made fewer skipped those that it could not make in time. Whoever waits\n"+
		"with 50 calls in flight has 50 that saw the stall, one in a hundred, and counts those that it then\n"+
		"made late from when it made them: where its p99 is right, its p90 shows what that hides.\n", stallRate*int(stallRun/time.Second))
}

func (p page) of(name string, target int, s shape) (of []cost) {
	for _, c := range p.Costs {
		if c.Generator == name && c.Target == target && c.Shape == s {
			of = append(of, c)
		}
	}
	return of
}

func perCall(c cost) float64 { return c.PerCall.Seconds() * 1e6 }
func server(c cost) float64  { return c.Server.Seconds() * 1e6 }

func sorted(costs []cost, of func(cost) float64) []float64 {
	values := make([]float64, len(costs))
	for i, c := range costs {
		values[i] = of(c)
	}
	slices.Sort(values)
	return values
}

func median(costs []cost, of func(cost) float64) float64 {
	values := sorted(costs, of)
	n := len(values)
	if n == 0 {
		return 0
	}
	return (values[(n-1)/2] + values[n/2]) / 2
}

func spread(costs []cost, of func(cost) float64) (low, high float64) {
	values := sorted(costs, of)
	if len(values) == 0 {
		return 0, 0
	}
	return values[0], values[len(values)-1]
}

// digits keeps three significant ones.
func digits(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

func short(d time.Duration) string {
	if d < time.Second {
		return digits(d.Seconds()*1000) + " ms"
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func thousands(calls [2]int) string {
	if calls[0] == calls[1] {
		return fmt.Sprintf("%d,000", calls[0]/1000)
	}
	return fmt.Sprintf("%d,000 and %d,000", calls[0]/1000, calls[1]/1000)
}
