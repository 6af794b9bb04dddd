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
// milliseconds and costs. What is not known, or what an arm does not have, is empty. Percentiles of latency above
// 1 - lost are lower bounds. New columns come last.
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
	for _, part := range []string{"client", "server", "proxy", "gateway"} {
		names = append(names, part+"_cpu_us_per_call", part+"_rss_bytes")
	}
	names = append(names, "capacity_per_s", "group", "answered_per_s", "drain_ms", "limited")
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
			group := ""
			if t.Group > 0 {
				group = strconv.Itoa(t.Group)
			}
			if err := out.Write(slices.Concat(row, figuresOf(t), []string{group}, rateOf(t))); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// sevenDigits is a number as spreadsheets read it.
func sevenDigits(v float64) string { return strconv.FormatFloat(v, 'g', 7, 64) }

// rateOf are the rate of the successful calls, the drain, and how the load generator limited the trial.
func rateOf(t result.Trial) []string {
	if t.Failed != "" {
		return make([]string, 3)
	}
	drain := ""
	if t.Window != nil {
		drain = sevenDigits(t.Window.DrainMS)
	}
	return []string{sevenDigits(t.Answered()), drain, clean(t.Limited)}
}

// figuresOf are the columns of a trial's measurements; empty without one.
func figuresOf(t result.Trial) (row []string) {
	whole := func(n uint64) string { return strconv.FormatUint(n, 10) }
	const counts, costs = 5, 9
	if t.Failed != "" {
		return make([]string, counts+3*len(result.FigureNames)+costs)
	}
	row = []string{whole(t.Calls), whole(t.Measures.Failed()), whole(t.Dropped), sevenDigits(t.Rate), sevenDigits(t.Measures.Lost())}
	for _, h := range []result.Histogram{t.Latency, t.Service, t.Lateness} {
		for _, f := range h.Figures() {
			if h.Empty() {
				row = append(row, "")
				continue
			}
			row = append(row, sevenDigits(f.Value))
		}
	}
	for _, used := range []result.Usage{t.Resources.Client, t.Resources.Server, t.Resources.Proxy, t.Resources.Gateway} {
		row = append(row, "", "") // CPU and memory; each may be unknown
		if used.CPU > 0 {
			row[len(row)-2] = sevenDigits(used.CPU)
		}
		if used.RSS > 0 {
			row[len(row)-1] = whole(used.RSS)
		}
	}
	if t.Capacity == nil || t.Capacity.Rate == 0 {
		return append(row, "")
	}
	return append(row, sevenDigits(t.Capacity.Rate))
}
