package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// Figure is a number at one point in time. Names and units are those of OpenTelemetry.
type Figure struct {
	Name    string  // rpclab.trial.latency
	Unit    string  // s, By, 1, {call}, {call}/s
	Help    string  // a sentence
	Counter bool    // the value is a total since the start of the run
	Labels  []Label // sorted by name
	Value   float64
}

// Label is a dimension of a figure.
type Label struct{ Name, Value string }

// quantiles are the percentiles of a trial's histograms, as labels of Prometheus. 0 is the minimum and 1 the maximum.
var quantiles = []struct {
	label string
	of    func(result.Histogram) float64
}{
	{"0", func(h result.Histogram) float64 { return h.Min }},
	{"0.5", func(h result.Histogram) float64 { return h.P50 }},
	{"0.9", func(h result.Histogram) float64 { return h.P90 }},
	{"0.95", func(h result.Histogram) float64 { return h.P95 }},
	{"0.99", func(h result.Histogram) float64 { return h.P99 }},
	{"0.999", func(h result.Histogram) float64 { return h.P999 }},
	{"1", func(h result.Histogram) float64 { return h.Max }},
}

// histograms are the distributions of a trial.
var histograms = []struct {
	name, help string
	of         func(result.Trial) result.Histogram
}{
	{"latency", "Latency of all calls that were due. A lost call counts as its deadline.", func(t result.Trial) result.Histogram { return t.Latency }},
	{"service", "Time from sending a call to its answer. Lost calls are not included.", func(t result.Trial) result.Histogram { return t.Service }},
	{"lateness", "Time from when a call was due to when rpclab sent the call.", func(t result.Trial) result.Histogram { return t.Lateness }},
}

const (
	perMillisecond = 1e-3 // seconds
	perMicrosecond = 1e-6
)

// numbers are the other figures of a trial. A number that is not known is left out.
var numbers = []struct {
	name, unit, help string
	of               func(result.Trial) (value float64, known bool)
}{
	{"calls", "{call}", "Calls that ended, with success or an error.", func(t result.Trial) (float64, bool) { return float64(t.Calls), true }},
	{"failed_calls", "{call}", "Calls that failed.", func(t result.Trial) (float64, bool) { return float64(t.Measures.Failed()), true }},
	{"dropped_calls", "{call}", "Calls that were due but not made, because too many were in flight.", func(t result.Trial) (float64, bool) { return float64(t.Dropped), true }},
	{"rate", "{call}/s", "Calls that ended per second.", func(t result.Trial) (float64, bool) { return t.Rate, true }},
	{"answered_rate", "{call}/s", "Successful calls per second.", func(t result.Trial) (float64, bool) { return t.Answered(), true }},
	{"lost", "1", "Share of the calls that failed or were dropped.", func(t result.Trial) (float64, bool) { return t.Measures.Lost(), true }},
	{"balance", "1", "Jain's index of the calls of the backends: 1 is even.", func(t result.Trial) (float64, bool) { return t.Balance.Jain, t.Balance.Jain > 0 }},
	{"capacity", "{call}/s", "Highest rate that met the objective of a search.", func(t result.Trial) (float64, bool) {
		if t.Capacity == nil {
			return 0, false
		}
		return t.Capacity.Rate, t.Capacity.Rate > 0
	}},
	{"client.cpu_per_call", "s", "CPU time of the callers for each call.", func(t result.Trial) (float64, bool) {
		return t.Resources.Client.CPU * perMicrosecond, t.Resources.Client.CPU > 0
	}},
	{"server.cpu_per_call", "s", "CPU time of the servers for each call.", func(t result.Trial) (float64, bool) {
		return t.Resources.Server.CPU * perMicrosecond, t.Resources.Server.CPU > 0
	}},
	{"client.memory", "By", "Peak of the callers' resident memory.", func(t result.Trial) (float64, bool) {
		return float64(t.Resources.Client.RSS), t.Resources.Client.RSS > 0
	}},
	{"server.memory", "By", "Peak of the largest server's resident memory.", func(t result.Trial) (float64, bool) {
		return float64(t.Resources.Server.RSS), t.Resources.Server.RSS > 0
	}},
}

// OfTrial returns the figures of a trial that has ended. A trial without a measurement has none.
func OfTrial(p lab.Progress) (all []Figure) {
	t := p.Ended
	if t == nil || t.Failed != "" {
		return nil
	}
	labels := Labels(p.Trial.Arm, p.Trial.Cell)
	for _, n := range numbers {
		if value, known := n.of(*t); known {
			all = append(all, Figure{Name: "rpclab.trial." + n.name, Unit: n.unit, Help: n.help, Labels: labels, Value: value})
		}
	}
	for _, h := range histograms {
		values := h.of(*t).Bounded()
		if values.Empty() {
			continue
		}
		all = append(all, Figure{Name: "rpclab.trial." + h.name + ".mean", Unit: "s", Help: "Mean. " + h.help, Labels: labels, Value: values.Mean * perMillisecond})
		for _, q := range quantiles {
			all = append(all, Figure{Name: "rpclab.trial." + h.name, Unit: "s", Help: h.help,
				Labels: append(slices.Clone(labels), Label{"quantile", q.label}), Value: q.of(values) * perMillisecond})
		}
	}
	return all
}

// Labels are those of an arm in a cell of the sweep; a part that is empty has no label.
func Labels(arm string, cell map[string]any) (all []Label) {
	if arm != "" {
		all = append(all, Label{"arm", arm})
	}
	if c := result.Cell(cell).String(); c != "" {
		all = append(all, Label{"cell", c})
	}
	return all
}

// PhaseTimes adds up how long the phases of a run took, by arm and cell. The zero value is empty.
type PhaseTimes struct{ all, changed map[phaseKey]time.Duration }

type phaseKey struct{ arm, cell, phase string }

// Add counts a phase.
func (t *PhaseTimes) Add(p lab.Phase) {
	if t.changed == nil {
		t.changed = map[phaseKey]time.Duration{}
	}
	if t.all == nil {
		t.all = map[phaseKey]time.Duration{}
	}
	key := phaseKey{p.Trial.Arm, result.Cell(p.Trial.Cell).String(), p.Name}
	t.all[key] += p.Ended.Sub(p.Began)
	t.changed[key] = t.all[key]
}

// Changed returns the times so far of the phases that were added since it was last called.
func (t *PhaseTimes) Changed() []Figure {
	changed := t.changed
	t.changed = nil
	return phaseFigures(changed)
}

// Figures returns all times so far.
func (t *PhaseTimes) Figures() []Figure { return phaseFigures(t.all) }

func phaseFigures(times map[phaseKey]time.Duration) (all []Figure) {
	order := func(a, b phaseKey) int {
		return cmp.Or(strings.Compare(a.arm, b.arm), strings.Compare(a.cell, b.cell), strings.Compare(a.phase, b.phase))
	}
	for _, key := range slices.SortedFunc(maps.Keys(times), order) {
		f := Figure{Name: "rpclab.phase.time", Unit: "s", Help: "Time that each phase took since the start of the run.", Counter: true, Value: times[key].Seconds()}
		for _, l := range []Label{{"arm", key.arm}, {"cell", key.cell}, {"phase", key.phase}} {
			if l.Value != "" {
				f.Labels = append(f.Labels, l)
			}
		}
		all = append(all, f)
	}
	return all
}
