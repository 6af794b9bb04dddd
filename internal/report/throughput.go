package report

import (
	"fmt"
	"slices"

	"rpclab/internal/result"
)

// throughput are for loads of users who think: calls answered well per second beside the most that users and
// threads allow, and what the study printed of it, of p95 and of memory.
func throughput(p *page, d result.Document) {
	said := slices.ContainsFunc(d.Arms, func(a result.Arm) bool {
		figure, ok := publishedFor(d, a)
		return a.Bound != nil || ok && figure.Rate+figure.P95+figure.RSS > 0
	})
	if !said {
		return
	}
	p.heading("Rate, and what bounds it")
	figures := false
	for _, cell := range cells(d) {
		if name := cellName(cell); name != "" {
			p.sub(name)
		}
		t := table{columns: []column{{"arm", false}, {"answered/s", true}, {"published/s", true}, {"bound", true}, {"of it", true}, {"by", false},
			{"quota", true}, {"p95 ms", true}, {"published ms", true}, {"server MB", true}, {"published MB", true}}}
		for _, arm := range armsIn(d, cell) {
			row, printed := throughputRow(d, arm)
			t.rows, figures = append(t.rows, row), figures || printed
		}
		p.grid(t)
	}
	text := "answered/s: calls that were answered well. bound: the most calls/s that users and threads allow, min(users ÷ (service + think), threads ÷ service), where service is the " +
		"wait that the workload asks for and users and threads are means over the load, users still beginning among it. of it: the share that was " +
		"reached; by: which of the two binds. quota: the share of the servers' processor time (server.cpus) that their work took; near 100 % it is what binds."
	if figures {
		text += " published: as printed by " + clean(source(d)) + ofSize(d) + ", facts from other hardware and never our results."
	}
	p.note(text)
}

// throughputRow is one arm, and whether the study printed anything of it.
func throughputRow(d result.Document, a result.Arm) (row []string, printed bool) {
	row = []string{armName(a), number(a.Answered()), "", "", "", "", quota(a), none, "", peak(a.Resources.Server.RSS), ""}
	if b := a.Bound; b != nil {
		row[3], row[4], row[5] = number(b.Rate), fmt.Sprintf("%.0f %%", 100*b.Reached), b.Binds
	}
	if !a.Latency.Empty() {
		row[7] = ms(a.Latency.P95)
	}
	figure, _ := publishedFor(d, a)
	for column, value := range map[int]float64{2: figure.Rate, 8: figure.P95, 10: figure.RSS} {
		if value > 0 {
			row[column], printed = number(value), true
		}
	}
	return row, printed
}

// quota is the share of the processor time that an arm's servers may have which they used;
// "": they may have all of it.
func quota(a result.Arm) string {
	server := a.Settings().Server
	if server.CPUs <= 0 || a.Resources.Server.CPU == 0 {
		return ""
	}
	const second = 1e6 // in µs
	return fmt.Sprintf("%.0f %%", 100*a.Rate*a.Resources.Server.CPU/(second*server.CPUs*max(1, server.Replicas)))
}
