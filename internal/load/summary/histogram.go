package summary

import (
	"fmt"
	"io"
	"math"
	"strings"

	"rpclab/internal/result"
)

// maxBins is the largest number of bins.
const maxBins = 14

// grids are the bins' lower bounds within a decade, finest first.
var grids = [][]float64{
	{1, 1.1, 1.2, 1.4, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3.2, 3.6, 4, 4.5, 5, 5.6, 6.3, 7, 8, 9},
	{1, 1.2, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8},
	{1, 1.5, 2, 3, 5, 7},
	{1, 2, 5},
	{1, 3},
	{1},
}

// bin counts the calls that took at least from and less than to, in ms.
type bin struct {
	from, to float64
	calls    int64
}

// histogram draws the latency of the successful calls with bins that grow with the value, so that the tail is visible, and the
// number of the lost calls.
func histogram(out io.Writer, measures result.Measures) error {
	distribution := measures.Answers()
	values, err := distribution.Decode()
	if err != nil || values == nil {
		return err
	}
	const nanosecond = 1e-6
	all := emptyBins(max(distribution.Min, nanosecond), max(distribution.Max, nanosecond))
	at := 0
	var most int64
	for value, calls := range values.ForEachBucket {
		for at < len(all)-1 && float64(value)/1e6 >= all[at].to {
			at++
		}
		all[at].calls += calls
		most = max(most, all[at].calls)
	}
	lost := int64(measures.Latency.LostOf(values.TotalCount()))
	most = max(most, lost)
	fmt.Fprintln(out)
	for _, b := range all {
		fmt.Fprintf(out, "%8s – %-8s %s %s\n", duration(b.from), duration(b.to), bar(b.calls, most), count(uint64(b.calls)))
	}
	if lost > 0 {
		fmt.Fprintf(out, "%19s %s %s\n", "lost", bar(lost, most), count(uint64(lost)))
	}
	return nil
}

// emptyBins returns bins from the lowest to the highest value, of the finest grid with at most
// maxBins.
func emptyBins(lowest, highest float64) (all []bin) {
	for _, grid := range grids {
		all = all[:0]
		for _, edge := range edges(grid, lowest, highest) {
			if len(all) > 0 {
				all[len(all)-1].to = edge
			}
			all = append(all, bin{from: edge})
		}
		all = all[:len(all)-1] // the last edge starts no bin
		if len(all) <= maxBins {
			break
		}
	}
	return all
}

// edges returns edges from the last at or below the lowest value to the first above the highest.
func edges(grid []float64, lowest, highest float64) (all []float64) {
	for decade := math.Floor(math.Log10(lowest)) - 1; ; decade++ {
		for _, mantissa := range grid {
			edge := mantissa * math.Pow(10, decade)
			if edge <= lowest {
				all = all[:0]
			}
			all = append(all, edge)
			if edge > highest {
				return all
			}
		}
	}
}

// barColumns is the width of the longest bar.
const barColumns = 45

// bar draws calls in eighths of a column, at least one eighth for any call.
func bar(calls, most int64) string {
	eighths := int(math.Round(float64(calls) / float64(most) * barColumns * 8))
	if calls > 0 {
		eighths = max(eighths, 1)
	}
	text := strings.Repeat("█", eighths/8)
	if part := eighths % 8; part > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[part-1])
	}
	return text
}
