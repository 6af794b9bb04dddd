package report

import (
	"fmt"
	"slices"

	"rpclab/internal/result"
)

// leastLooks at memory make a course worth drawing.
const leastLooks = 4

// MemoryTrial is the first trial of an arm whose servers' memory was looked at often enough to
// draw it.
func MemoryTrial(a result.Arm) (result.Trial, bool) {
	for _, t := range a.Trials {
		if t.Memory != nil && len(t.Memory.Servers) >= leastLooks {
			return t, true
		}
	}
	return result.Trial{}, false
}

// memoryTimes draws what servers have in memory over time, where a limit makes that a question.
func memoryTimes(p *page, d result.Document) {
	for _, cell := range cells(d) {
		var rows []stripe
		var peaks []string
		top, length := 0.0, 0.0
		for _, arm := range armsIn(d, cell) {
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
		p.sub("Memory of the servers over time" + at(cell))
		p.picture(rows)
		p.note(fmt.Sprintf("%.0f s of one trial each; the highest bar is %s MB. At most, in MB: %s.", length, megabytes(uint64(top)), and(peaks)))
	}
}
