package report

import (
	"fmt"
	"math"
	"strings"

	"rpclab/internal/result"
)

// betweenNotes say what came of the end of what stands between clients and backends.
func betweenNotes(p *page, d result.Document, all []*happening) {
	if text := slowToReturn(d, all); text != "" {
		p.item(text)
	}
	for i, h := range all {
		if h.what != "kill control" || len(h.errors) > 0 {
			continue
		}
		p.item(followedWithout(h, all[i+1:]))
	}
}

// slowToReturn tells the time for which proxies were away from that for which their
// clients were, where that was longer.
func slowToReturn(d result.Document, all []*happening) string {
	var waited []string
	grpc := true
	for _, h := range all {
		back, served := median(h.took[partBack]), median(h.took[servedAgain])
		if math.IsInf(back, 1) || math.IsInf(served, 1) || served-back < 2*countedEvery {
			continue
		}
		waited = append(waited, fmt.Sprintf("%s %s and %s ms", clean(h.arm), ms(back), number(served)))
		for _, arm := range d.Arms {
			caller, _ := arm.Config["caller"].(map[string]any)
			grpc = grpc && (arm.Name != h.arm || caller["kind"] == "grpc-go")
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

// followedWithout says what became of the first change of backends after a control plane's end.
func followedWithout(killed *happening, later []*happening) string {
	text := clean(killed.arm) + ": nobody notices that the control plane is gone, and nobody should: all go on with what they know"
	for _, h := range later {
		gone := h.fair > 0 && strings.HasPrefix(h.what, "scale")
		if h.arm != killed.arm || h.cell.Key() != killed.cell.Key() || gone || math.IsInf(median(h.took[ready]), 1) {
			continue
		}
		followed := math.Min(median(h.took[told]), median(h.took[firstCall]))
		if math.IsInf(followed, 1) {
			return text + fmt.Sprintf(". The next change (%s) was not followed: no new backend got a call", clean(h.what))
		}
		return text + fmt.Sprintf(". The next change (%s) was followed all the same, after %s ms", clean(h.what), ms(followed))
	}
	return text
}
