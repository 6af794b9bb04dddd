package report

import (
	"fmt"
	"math"
	"strings"

	"rpclab/internal/result"
)

// proxyNotes say what the exit of a proxy or a control plane did to the calls.
func proxyNotes(p *page, d result.Document, all []*eventOutcome) {
	if text := slowReconnects(d, all); text != "" {
		p.item(text)
	}
	for i, h := range all {
		if h.action != result.ActionKillControl || len(h.errors) > 0 {
			continue
		}
		p.item(afterControlPlaneLoss(h, all[i+1:]))
	}
}

// slowReconnects tells the time for which proxies were away from that for which their
// clients were, where that was longer.
func slowReconnects(d result.Document, all []*eventOutcome) string {
	var waited []string
	grpc := true
	for _, h := range all {
		back, served := median(h.took[proxyReady]), median(h.took[recovered])
		if math.IsInf(back, 1) || math.IsInf(served, 1) || served-back < 2*countedEvery {
			continue
		}
		waited = append(waited, fmt.Sprintf("%s %s and %s ms", clean(h.arm), ms(back), number(served)))
		for _, arm := range d.Arms {
			grpc = grpc && (arm.Name != h.arm || arm.Settings().Caller.Kind == "grpc-go")
		}
	}
	if len(waited) == 0 {
		return ""
	}
	text := "the proxy was ready again, and its clients had answers again, after: " + strings.Join(waited, ", ") + ". The difference is the clients'"
	if grpc {
		text += ": grpc-go tries at once to connect again and, where the proxy is not back by then, the next time after a second, 20 % more or less"
	}
	return text
}

// afterControlPlaneLoss says what became of the first change of backends after a control plane's end.
func afterControlPlaneLoss(killed *eventOutcome, later []*eventOutcome) string {
	text := clean(killed.arm) + ": no call fails without the control plane, since clients and proxies keep the backends that they know"
	for _, h := range later {
		gone := h.fair > 0 && h.action == result.ActionScale
		if h.arm != killed.arm || h.cell.Key() != killed.cell.Key() || gone || math.IsInf(median(h.took[ready]), 1) {
			continue
		}
		followed := math.Min(median(h.took[resolverUpdated]), median(h.took[firstCall]))
		if math.IsInf(followed, 1) {
			return text + fmt.Sprintf(". The next change (%s) was not followed: no new backend got a call", clean(h.what))
		}
		return text + fmt.Sprintf(". The next change (%s) was followed all the same, after %s ms", clean(h.what), ms(followed))
	}
	return text
}
