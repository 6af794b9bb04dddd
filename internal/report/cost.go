package report

import (
	"fmt"

	"rpclab/internal/result"
)

// cost is what the arms used: one row for each arm and cell.
func cost(p *page, d result.Document) {
	t := table{columns: []column{{"arm", false}, {"", false}, {"client µs/call", true}, {"client MB", true},
		{"server µs/call", true}, {"server MB", true}, {"proxy µs/call", true}, {"proxy MB", true}}}
	for _, arm := range d.Arms {
		r := arm.Resources
		if r == (result.Resources{}) {
			continue
		}
		row := []string{clean(arm.Name), cellName(arm.Cell)}
		for _, usage := range []result.Usage{r.Client, r.Server, r.Proxy} {
			row = append(row, used(usage.CPU), peak(usage.RSS))
		}
		t.rows = append(t.rows, row)
	}
	if len(t.rows) == 0 {
		return
	}
	p.heading("Cost: CPU time per call and peak memory")
	p.grid(t)
}

func used(us float64) string {
	switch {
	case us <= 0:
		return ""
	case us < 10:
		return fmt.Sprintf("%.1f", us)
	}
	return number(us)
}

func peak(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	return megabytes(bytes)
}
