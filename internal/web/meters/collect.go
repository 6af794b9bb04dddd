package meters

import (
	"github.com/prometheus/client_golang/prometheus"

	"rpclab/internal/measure"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("rpclab_"+name, help, labels, nil)
}

var (
	runInfo     = describe("run_info", "The run: 1 while it is in progress, 0 afterwards.", "run", "experiment")
	planned     = describe("run_trials_planned", "Trials of the run.")
	done        = describe("run_trials_done", "Finished trials.")
	remaining   = describe("run_remaining_seconds", "Estimated time until the run ends; absent if not known.")
	trialInfo   = describe("trial_info", "The current arm and its cell of the sweep.", "arm", "cell")
	callsTotal  = describe("calls_total", "Finished calls by code. Calls with one of too many codes have the code OTHERS.", "arm", "cell", "code")
	dropped     = describe("calls_dropped_total", "Calls that were due but not made, because too many were in flight.", "arm", "cell")
	perBackend  = describe("backend_calls_total", "Calls that each backend answered.", "arm", "cell", "backend")
	eventsTotal = describe("events_total", "Events applied to the cluster, by action.", "arm", "cell", "what")
	latency     = describe("call_latency_seconds", "Latency of answered calls since they were due. Calls that failed or were dropped are not included.", "arm", "cell")
)

// Describe names every series.
func (m *Meters) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runInfo, planned, done, remaining, trialInfo, callsTotal, dropped, perBackend, eventsTotal, latency} {
		to <- d
	}
}

// Collect sends the current values.
func (m *Meters) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
	}
	on := 0.0
	if m.running {
		on = 1
		gauge(trialInfo, 1, m.now.name, m.now.cell)
	}
	gauge(runInfo, on, m.run...)
	gauge(planned, float64(m.plan.planned))
	gauge(done, float64(m.plan.done))
	if m.left > 0 {
		gauge(remaining, m.left)
	}
	for a, c := range m.arms {
		all := newTally()
		all.add(c.finished)
		all.add(c.current)
		counter(callsTotal, all.answered, a.name, a.cell, measure.OK)
		for code, n := range all.failed {
			counter(callsTotal, n, a.name, a.cell, code)
		}
		for id, n := range all.backends {
			counter(perBackend, n, a.name, a.cell, id)
		}
		for what, n := range c.events {
			counter(eventsTotal, n, a.name, a.cell, what)
		}
		counter(dropped, all.dropped, a.name, a.cell)
		to <- all.latency.metric(latency, a.name, a.cell)
	}
}
