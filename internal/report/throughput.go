package report

import (
	"fmt"
	"slices"

	"rpclab/internal/result"
)

// throughput compares, for loads of users with think time, the rate of successful calls with its
// bound and with the published figures.
func throughput(p *page, d result.Document) {
	said := slices.ContainsFunc(d.Arms, func(a result.Arm) bool {
		figure, ok := publishedFor(d, a)
		return a.Bound != nil || ok && figure.Rate+figure.Mean+figure.P95+figure.RSS > 0
	})
	if !said {
		return
	}
	p.heading("Rate, and what bounds it")
	figures := false
	for _, in := range d.ArmsByCell() {
		if name := cellName(in.Cell); name != "" {
			p.sub(name)
		}
		t := table{columns: []column{{"arm", false}, {"answered/s", true}, {"published/s", true}, {"bound", true}, {"reached", true}, {"limited by", false},
			{"quota", true}, {"p95 ms", true}, {"published ms", true}, {"server MB", true}, {"published MB", true}}}
		for _, arm := range in.All {
			row, printed := throughputRow(d, arm)
			t.rows, figures = append(t.rows, row), figures || printed
		}
		p.grid(t)
		p.grid(spread(d, in.All))
	}
	text := "answered/s: calls answered without error. bound: the most calls/s that users and threads allow, min(users ÷ (service + think), threads ÷ service); service is the " +
		"wait that the workload asks for, and users and threads are means over the load, ramp included. reached: the share of the bound; limited by: the lower of the two. " +
		"quota: the share of server.cpus that the servers used; near 100 % it is the limit. The second table has the calls that were due, and their latency."
	if slices.ContainsFunc(d.Arms, func(a result.Arm) bool { return a.Bound != nil && inBlocks(a) }) {
		text += " The share is not known of arms in turns, because the end of each block cuts off calls."
	}
	if figures {
		text += " published: of " + source(d) + "."
	}
	p.note(text)
}

// throughputRow is the row of one arm; printed: it has a published figure.
func throughputRow(d result.Document, a result.Arm) (row []string, printed bool) {
	row = []string{armName(a), ThreeDigits(a.Answered()), "", "", "", "", quota(a), none, "", peak(a.Resources.Server.RSS), ""}
	if b := a.Bound; b != nil {
		row[3], row[4], row[5] = ThreeDigits(b.Rate), fmt.Sprintf("%.0f %%", 100*b.Reached), b.Binds
		if inBlocks(a) {
			row[4] = none
		}
	}
	if !a.Latency.Empty() {
		row[7] = bounded(a.Latency.Figure("p95"), ms)
	}
	figure, _ := publishedFor(d, a)
	for column, value := range map[int]float64{2: figure.Rate, 8: figure.P95, 10: figure.RSS} {
		if value > 0 {
			row[column], printed = number(value), true
		}
	}
	return row, printed
}

// inBlocks reports whether the loads of an arm were in blocks.
func inBlocks(a result.Arm) bool {
	return slices.ContainsFunc(a.Trials, func(t result.Trial) bool { return len(t.Blocks) > 0 })
}

// spread is the number of calls of each arm, and the latencies that studies print.
func spread(d result.Document, arms []result.Arm) table {
	t := table{columns: []column{{"arm", false}, {"calls", true}, {"min ms", true}, {"mean ms", true}, {"published ms", true}, {"p50 ms", true}, {"p90 ms", true}, {"max ms", true}}}
	for _, a := range arms {
		row := []string{armName(a), count(a.Calls + a.Dropped), none, none, "", none, none, none}
		if !a.Latency.Empty() {
			for i, name := range []string{2: "min", 3: "mean", 5: "p50", 6: "p90", 7: "max"} {
				if name != "" {
					row[i] = bounded(a.Latency.Figure(name), ms)
				}
			}
		}
		if figure, _ := publishedFor(d, a); figure.Mean > 0 {
			row[4] = ms(figure.Mean)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// quota is the share of server.cpus that an arm's servers used; "": it is not set.
func quota(a result.Arm) string {
	server := a.Settings().Server
	if server.CPUs <= 0 || a.Resources.Server.CPU == 0 {
		return ""
	}
	const second = 1e6 // in µs
	return fmt.Sprintf("%.0f %%", 100*a.Rate*a.Resources.Server.CPU/(second*server.CPUs*max(1, server.Replicas)))
}
