// Package report formats results as text: a run for the terminal, Markdown or JUnit, a comparison of
// two runs, and the list of runs. It is pure: it takes documents and returns text.
package report

import (
	"io"

	"rpclab/internal/result"
)

// Terminal writes the report of a run, no line wider than Options.Width: the question, the
// answer and at most 12 lines that support it, or everything with Options.Full.
func Terminal(w io.Writer, d result.Document, o Options) error {
	if o.Full {
		return writeTerminal(w, fullReport(d), o)
	}
	return writeTerminal(w, summary(d), o)
}

// Markdown writes the full report for GitHub.
func Markdown(w io.Writer, d result.Document) error {
	return writeMarkdown(w, fullReport(d))
}

// fullReport has every section. If the question is about events, they are before the latencies.
func fullReport(d result.Document) page {
	var p page
	opening(&p, d)
	conditions(&p, d)
	head(&p, d)
	assertions(&p, d)
	gatesOfRun(&p, d)
	asked := asksAboutEvents(d)
	if asked {
		events(&p, d)
	}
	if measured(d) {
		resultTables(&p, d)
		throughput(&p, d)
		capacities(&p, d)
		verdicts(&p, d)
		power(&p, d)
		otherMetrics(&p, d)
		balance(&p, d)
		confounds(&p, d)
		if !asked {
			events(&p, d)
		}
		proxyLatency(&p, d)
		differences(&p, d)
		cost(&p, d)
		memoryTimes(&p, d)
		securityCost(&p, d)
		idleWorkers(&p, d)
	} else if capacities(&p, d); !searched(d) {
		p.warn("Nothing was measured.")
	}
	failures(&p, d)
	warnings(&p, d)
	return p
}
