// Package report draws a result as text: for the terminal, for a pull request, two
// runs beside each other, and the list of runs. Documents in, text out: it is pure,
// and everything that it says stands in the document.
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

// fullReport is the report in the order in which it is read: what was asked, the answer,
// the numbers, what they mean, why, and what to be careful with. Where the question is about events,
// they come before the latencies.
func fullReport(d result.Document) page {
	var p page
	opening(&p, d)
	head(&p, d)
	asked := asksAboutEvents(d)
	if asked {
		events(&p, d)
	}
	if measured(d) {
		resultTables(&p, d)
		throughput(&p, d)
		capacities(&p, d)
		verdicts(&p, d)
		otherMetrics(&p, d)
		balance(&p, d)
		confounds(&p, d)
		if !asked {
			events(&p, d)
		}
		proxyLatency(&p, d)
		cost(&p, d)
		memoryTimes(&p, d)
		securityCost(&p, d)
		idleWorkers(&p, d)
	} else if capacities(&p, d); !searched(d) {
		p.warn("Nothing was measured: there is no number to show.")
	}
	failures(&p, d)
	warnings(&p, d)
	return p
}
