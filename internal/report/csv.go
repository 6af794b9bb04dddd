package report

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/result"
)

// CSV writes a row for each trial, for spreadsheets and scripts: its place in the run, its calls, latencies in
// milliseconds and costs. What is not known is empty. Percentiles of latency above 1 - lost are lower bounds.
func CSV(w io.Writer, d result.Document) error {
	var axes []string
	for _, arm := range d.Arms {
		for _, path := range slices.Sorted(maps.Keys(arm.Cell)) {
			if !slices.Contains(axes, path) {
				axes = append(axes, path)
			}
		}
	}
	out := csv.NewWriter(w)
	names := slices.Concat([]string{"run", "experiment", "arm"}, axes, []string{"round", "started", "failed_trial", "calls", "failed", "dropped", "rate_per_s", "lost"})
	for _, of := range []string{"latency", "service", "lateness"} {
		for _, figure := range result.FigureNames {
			names = append(names, of+"_"+figure+"_ms")
		}
	}
	names = append(names, "client_cpu_us_per_call", "client_rss_bytes", "server_cpu_us_per_call", "server_rss_bytes")
	if err := out.Write(names); err != nil {
		return err
	}
	for _, arm := range d.Arms {
		for _, t := range arm.Trials {
			row := []string{d.ID, clean(d.Experiment), clean(arm.Name)}
			for _, path := range axes {
				row = append(row, strings.TrimPrefix(result.Cell{path: arm.Cell[path]}.String(), path+"="))
			}
			row = append(row, strconv.Itoa(t.Round), t.Started.UTC().Format(time.RFC3339Nano), clean(t.Failed))
			if err := out.Write(append(row, figuresOf(t)...)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// figuresOf are the columns of a trial's measurements; empty without one.
func figuresOf(t result.Trial) (row []string) {
	whole := func(n uint64) string { return strconv.FormatUint(n, 10) }
	decimal := func(v float64) string { return strconv.FormatFloat(v, 'g', 7, 64) }
	const counts, costs = 5, 4
	if t.Failed != "" {
		return make([]string, counts+3*len(result.FigureNames)+costs)
	}
	row = []string{whole(t.Calls), whole(t.Measures.Failed()), whole(t.Dropped), decimal(t.Rate), decimal(t.Latency.Lost)}
	for _, h := range []result.Histogram{t.Latency, t.Service, t.Lateness} {
		for _, f := range h.Figures() {
			if h.Empty() {
				row = append(row, "")
				continue
			}
			row = append(row, decimal(f.Value))
		}
	}
	row = append(row, decimal(t.Resources.Client.CPU), whole(t.Resources.Client.RSS))
	if t.Resources.Server == (result.Usage{}) {
		return append(row, "", "")
	}
	return append(row, decimal(t.Resources.Server.CPU), whole(t.Resources.Server.RSS))
}
