package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"rpclab/internal/result"
)

// Benchstat writes a line for each trial in Go's benchmark format (golang.org/design/14313-benchmark-format), which
// benchstat compares. The ID of the run is a comment: benchstat would give runs with another value tables of their own. A lost
// call counts as its deadline in percentiles, so that no trial is left out for its outcome. Each name ends with the number of
// CPUs, as in Go: else benchstat would take the 2 of an arm http-2 for it.
func Benchstat(w io.Writer, d result.Document) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "goos: %s\ngoarch: %s\ncpu: %s\n# run %s\n", clean(d.Machine.OS), clean(d.Machine.Arch), clean(d.Machine.Model), d.ID)
	out.WriteString("Unit answered/s better=higher\nUnit lost-share better=lower\n")
	for _, arm := range d.Arms {
		name := "Benchmark" + capital(benchmarkWord(d.Experiment)) + "/arm=" + benchmarkWord(arm.Name)
		for _, path := range slices.Sorted(maps.Keys(arm.Cell)) {
			name += "/" + benchmarkWord(result.Cell{path: arm.Cell[path]}.String())
		}
		for _, t := range arm.Trials {
			if t.Failed != "" || t.Calls+t.Dropped == 0 {
				continue
			}
			fmt.Fprintf(out, "%s-%d %d", name, max(1, d.Machine.CPUs), t.Calls+t.Dropped)
			if latency := t.Latency.Bounded(); !latency.Empty() {
				fmt.Fprintf(out, " %.7g p50-sec %.7g p95-sec %.7g p99-sec", latency.P50/1000, latency.P95/1000, latency.P99/1000)
			}
			fmt.Fprintf(out, " %.7g answered/s %.7g lost-share\n", t.Answered(), t.Measures.Lost())
		}
	}
	return out.Flush()
}

// benchmarkWord is a name without spaces and slashes, which separate parts of a benchmark line.
func benchmarkWord(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '/' {
			return '_'
		}
		return r
	}, clean(name))
}
