package report

import (
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/result"
)

type meter struct {
	name string
	read func(result.Resources) string
}

// meters are the costs of a run, in the order of the report.
var meters = []meter{
	{"client µs/call", func(r result.Resources) string { return used(r.Client.CPU) }},
	{"client MB", func(r result.Resources) string { return peak(r.Client.RSS) }},
	{"gateway µs/call", func(r result.Resources) string { return used(r.Gateway.CPU) }},
	{"gateway MB", func(r result.Resources) string { return peak(r.Gateway.RSS) }},
	{"server µs/call", func(r result.Resources) string { return used(r.Server.CPU) }},
	{"server MB", func(r result.Resources) string { return peak(r.Server.RSS) }},
	{"proxy µs/call", func(r result.Resources) string { return used(r.Proxy.CPU) }},
	{"proxy MB", func(r result.Resources) string { return peak(r.Proxy.RSS) }},
	{"control plane µs/call", func(r result.Resources) string { return used(r.Control.CPU) }},
	{"control plane MB", func(r result.Resources) string { return peak(r.Control.RSS) }},
}

// processors and memories are for runs with a proxy or a gateway, whose meters are too many for one
// table.
var (
	processors = []meter{
		{"client", func(r result.Resources) string { return used(r.Client.CPU) }},
		{"gateway", func(r result.Resources) string { return used(r.Gateway.CPU) }},
		{"proxy", func(r result.Resources) string { return used(r.Proxy.CPU) }},
		{"server", func(r result.Resources) string { return used(r.Server.CPU) }},
		{"control plane", func(r result.Resources) string { return used(r.Control.CPU) }},
		{"all", func(r result.Resources) string {
			if r.Server == (result.Usage{}) { // not known
				return ""
			}
			return used(r.Client.CPU + r.Gateway.CPU + r.Proxy.CPU + r.Server.CPU + r.Control.CPU)
		}},
	}
	memories = []meter{
		{"client", func(r result.Resources) string { return peak(r.Client.RSS) }},
		{"gateway", func(r result.Resources) string { return peak(r.Gateway.RSS) }},
		{"proxy", func(r result.Resources) string { return peak(r.Proxy.RSS) }},
		{"largest server", func(r result.Resources) string { return peak(r.Server.RSS) }},
		{"control plane", func(r result.Resources) string { return peak(r.Control.RSS) }},
	}
)

// cost is what the arms used: one table or, with a sweep, one for each meter.
func cost(p *page, d result.Document) {
	spent := false
	for _, arm := range d.Arms {
		spent = spent || arm.Resources != (result.Resources{})
	}
	if !spent {
		return
	}
	p.heading("Cost: CPU time per call and peak memory")
	all := d.ArmsByCell()
	between := slices.ContainsFunc(d.Arms, func(a result.Arm) bool {
		return a.Resources.Proxy != (result.Usage{}) || a.Resources.Gateway != (result.Usage{})
	})
	switch {
	case len(all) == 1 && between:
		p.sub("CPU time, µs per call")
		p.grid(costOf(all[0].All, processors))
		p.sub("Peak memory, MB")
		p.grid(costOf(all[0].All, memories))
		return
	case len(all) == 1:
		p.grid(costOf(all[0].All, meters))
		return
	}
	for i, meter := range meters {
		t, any := meterOver(all, i)
		switch same := alike(t); {
		case !any:
		case same != "":
			p.say(meter.name + ": " + same + " in every arm and cell.")
		default:
			p.sub(meter.name)
			p.grid(t)
		}
	}
}

// costOf has a column for each meter with a value.
func costOf(arms []result.Arm, meters []meter) table {
	t := table{columns: []column{{"arm", false}}}
	for _, arm := range arms {
		t.rows = append(t.rows, []string{clean(arm.Name)})
	}
	for _, meter := range meters {
		any := slices.ContainsFunc(arms, func(arm result.Arm) bool { return meter.read(arm.Resources) != "" })
		if !any {
			continue
		}
		t.columns = append(t.columns, column{meter.name, true})
		for i, arm := range arms {
			t.rows[i] = append(t.rows[i], meter.read(arm.Resources))
		}
	}
	return t
}

// meterOver has a column for each cell; any is false without a value.
func meterOver(all []result.InCell[result.Arm], meter int) (t table, any bool) {
	t.columns = []column{{"arm", false}}
	place := map[string]int{}
	for c, in := range all {
		t.columns = append(t.columns, column{cellName(in.Cell), true})
		for _, arm := range in.All {
			at, known := place[arm.Name]
			if !known {
				at = len(t.rows)
				place[arm.Name] = at
				t.rows = append(t.rows, append([]string{clean(arm.Name)}, make([]string, len(all))...))
			}
			t.rows[at][c+1] = meters[meter].read(arm.Resources)
			any = any || t.rows[at][c+1] != ""
		}
	}
	return t, any
}

// alike is the value of all fields of the table, "" if they differ.
func alike(t table) string {
	if len(t.rows) == 0 {
		return ""
	}
	first := t.rows[0][1]
	for _, row := range t.rows {
		for _, v := range row[1:] {
			if v != first {
				return ""
			}
		}
	}
	return first
}

// idleWorkers names the arms in which some workers of the proxy were idle.
func idleWorkers(p *page, d result.Document) {
	for _, arm := range d.Arms {
		var workers, connections int
		fewest, most := -1, 0
		for _, t := range arm.Trials {
			if t.Failed != "" || len(t.ProxyConnections) == 0 {
				continue
			}
			idle, all := 0, uint64(0)
			for _, n := range t.ProxyConnections {
				all += n
				if n == 0 {
					idle++
				}
			}
			workers, connections = len(t.ProxyConnections), int(all)
			if fewest < 0 || idle < fewest {
				fewest = idle
			}
			most = max(most, idle)
		}
		if most == 0 {
			continue
		}
		idle := fmt.Sprint(most)
		if fewest < most {
			idle = fmt.Sprintf("%d to %d", fewest, most)
		}
		p.say(fmt.Sprintf("%s: %s of the proxy's %d workers were idle: callers opened %s, and the worker that accepts a connection handles "+
			"all its calls. More workers help only with more connections.",
			strings.Join(filled(clean(arm.Name), cellName(arm.Cell)), " at "), idle, workers, plural(connections, "connection")))
	}
}

// leastLooks is how many samples of memory are worth a picture.
const leastLooks = 4

// MemoryTrial is the first trial of an arm with enough samples of the servers' memory for a picture.
func MemoryTrial(a result.Arm) (result.Trial, bool) {
	for _, t := range a.Trials {
		if t.Memory != nil && len(t.Memory.Servers) >= leastLooks {
			return t, true
		}
	}
	return result.Trial{}, false
}

// memoryTimes draws the memory of servers over time, if they have limits.
func memoryTimes(p *page, d result.Document) {
	for _, in := range d.ArmsByCell() {
		var rows []stripe
		var peaks []string
		top, length := 0.0, 0.0
		for _, arm := range in.All {
			t, ok := MemoryTrial(arm)
			if !ok || t.Limits == "" {
				continue
			}
			line := stripe{label: clean(arm.Name)}
			for _, bytes := range t.Memory.Servers {
				line.values = append(line.values, float64(bytes))
			}
			rows = append(rows, line)
			most := slices.Max(t.Memory.Servers)
			top = max(top, float64(most))
			length = max(length, float64(int64(len(t.Memory.Servers)-1)*t.Memory.IntervalMS)/1000)
			peaks = append(peaks, line.label+" "+megabytes(most))
		}
		if rows == nil {
			continue
		}
		for i := range rows {
			rows[i].top = top
		}
		p.sub("Memory of the servers over time" + at(in.Cell))
		p.picture(rows)
		p.note(fmt.Sprintf("%.0f s of one trial each; the highest bar is %s MB. Peaks in MB: %s.", length, megabytes(uint64(top)), and(peaks)))
	}
}
