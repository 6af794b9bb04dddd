package report

import (
	"fmt"

	"rpclab/internal/result"
)

// proxyLatency says how many milliseconds a proxy adds to a call, if the baseline has no proxy.
func proxyLatency(p *page, d result.Document) {
	if len(d.Events) > 0 { // they would be part of the latency
		return
	}
	said, brackets := false, false
	ratios := ratiosByKey(d)
	for _, in := range d.ArmsByCell() {
		for _, b := range in.All {
			if b.Name != d.Baseline || b.Resources.Proxy != (result.Usage{}) {
				continue
			}
			for _, a := range in.All {
				text, interval := addedLatency(ratios, a, b)
				if text == "" {
					continue
				}
				if !said {
					p.heading("Latency that a proxy adds to a call")
				}
				said, brackets = true, brackets || interval
				p.item(text + at(in.Cell))
			}
		}
	}
	if brackets {
		p.note("In brackets: the confidence interval of the verdict's ratio, as milliseconds of the baseline's median. It includes the hop, and the work of the proxy on the same processors.")
	}
}

// addedLatency is what an arm with a proxy adds to the median of the baseline, and whether the text
// has an interval; "": not known.
func addedLatency(ratios map[ratioKey]result.Verdict, a, b result.Arm) (text string, interval bool) {
	if a.Resources.Proxy == (result.Usage{}) {
		return "", false
	}
	v, known := ratios[ratioKey{"latency_p50", a.Name, b.Name, a.Cell.Key()}]
	if !known {
		return "", false
	}
	added := func(ratio float64) string { return ms((ratio - 1) * b.Latency.P50) }
	text = fmt.Sprintf("%s adds %s ms at the median", clean(a.Name), boundInWords(v.Bound)+added(v.Ratio))
	switch {
	case v.Unfit:
		return fmt.Sprintf("%s: %s ms at the median, %s of %s; no verdict", clean(a.Name), bounded(a.Latency.Figure("p50"), ms), bounded(b.Latency.Figure("p50"), ms), clean(b.Name)), false
	case v.CI == [2]float64{}:
		return text + ", without an interval: " + clean(v.Reason), false
	case v.Decision == "undecided":
		return fmt.Sprintf("%s (%s to %s), which may be chance", text, added(v.CI[0]), added(v.CI[1])), true
	}
	return fmt.Sprintf("%s (%s to %s)", text, added(v.CI[0]), added(v.CI[1])), true
}
