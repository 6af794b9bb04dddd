package report

import (
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// eventNotes explains the columns, and why a route shows what it shows.
func eventNotes(p *page, d result.Document, all []*happening, unseen bool, why balanceNotes) {
	text := "failed and late: calls until the next event, all rounds together. " + hitNote(all)
	if times := timesShown(all); len(times) > 0 {
		text += "Times in ms, medians over rounds, from the event until: " + and(times) + "."
	}
	p.note(strings.TrimSpace(text))
	if unseen {
		p.note(none + ": not seen before the next event in at least half of the rounds, or there was nothing to see: " +
			"fewer backends bring no first call on a new one, and who sends no calls to a backend notices nothing.")
	}
	for _, text := range why.texts() {
		p.item(text)
	}
	spreadingNotes(p, all)
	betweenNotes(p, d, all)
	said := map[string]bool{}
	for _, arm := range d.Arms {
		text := lag(arm)
		if text == "" || said[text] || !hasEvents(d, arm.Name) {
			continue
		}
		said[text] = true
		p.item(text)
	}
}

// timesShown explain the columns of times that some event has.
func timesShown(all []*happening) (texts []string) {
	for step, text := range [steps]string{
		firstLoss:   "a call that was due was lost for the first time (first loss)",
		partBack:    "what was killed was ready again (proxy back)",
		servedAgain: "no call that was due was lost any more, for 1 s (served again)",
		noticed:     "callers left the backends hit alone (noticed)",
		ready:       "the cluster had published its last change (ready)",
		told:        "the client's resolver had that one (told)",
		firstCall:   "the first of the new backends gave an answer (first call)",
		evenAgain:   "Jain's index was at 0.95 or more for 1 s (even again)",
	} {
		shown := func(h *happening) bool {
			return !math.IsInf(median(h.took[step]), 1) || step == noticed && h.fair > 0
		}
		if slices.ContainsFunc(all, shown) {
			texts = append(texts, text)
		}
	}
	return texts
}

// balanceNotes are the reasons why a balance was not seen restored, and whose.
type balanceNotes struct {
	reasons ranges
	whose   [][]string // arms, for each reason
}

// add takes the reasons of an arm that shows no time.
func (b *balanceNotes) add(h *happening) {
	if !math.IsInf(median(h.took[evenAgain]), 1) {
		return
	}
	for _, note := range h.notes {
		at := b.reasons.loosely(note)
		if at == len(b.whose) {
			b.whose = append(b.whose, nil)
		}
		if arm := clean(h.arm); !slices.Contains(b.whose[at], arm) {
			b.whose[at] = append(b.whose[at], arm)
		}
	}
}

func (b *balanceNotes) texts() []string {
	var out []string
	for i, reason := range b.reasons.texts() {
		out = append(out, "even again was not seen for "+and(b.whose[i])+": "+strings.TrimRight(reason, "."))
	}
	return out
}

func hasEvents(d result.Document, arm string) bool {
	for _, e := range d.Events {
		if e.Arm == arm {
			return true
		}
	}
	return false
}

// lag says what the way of an arm does with a change of the backends.
func lag(a result.Arm) string {
	caller, _ := a.Config["caller"].(map[string]any)
	server, _ := a.Config["server"].(map[string]any)
	_, streams := caller["stream"]
	switch {
	case streams && server["age_grace"] != nil:
		return "streams that servers cut: those that begin anew find new backends. A grpc-go server writes nothing more for up to " +
			"1 s before it closes a connection that it cuts, and the messages that it still reads in that time fail with it"
	case streams:
		return "streams: whatever the client is told, a message goes to the backend that its stream began with; " +
			"only streams that begin anew find new backends"
	case a.Route == "headless":
		return "headless: grpc-go asks DNS again only when a connection breaks, and at the earliest 30 s after it last did; " +
			"backends that were added stay unknown until then"
	case draws[a.Route] && a.Channel == "per-call":
		return a.Route + ", a channel per call: the client is told nothing, but every new connection goes to a backend that is ready then"
	case draws[a.Route]:
		return a.Route + ": the client is told nothing; a connection stays with its backend until it breaks"
	case a.Route == "direct":
		return "direct: the client is told nothing and knows one address"
	case a.Route == "xds":
		return "xds: the control plane watches the endpoints and pushes a change to the client"
	case a.Route == "envoy":
		return "envoy: the client is told nothing; the control plane pushes a change to the proxy"
	case a.Route == "haproxy":
		return "haproxy: the client is told nothing; the proxy is told of a change by its runtime API"
	case a.Route == "nginx":
		return "nginx: the client is told nothing; the proxy reads a new configuration when something changed"
	case a.Route == "linkerd", a.Route == "istio":
		return a.Route + ": the client is told nothing; the mesh tells the proxy beside it of a change"
	case a.Route == "endpointslice", a.Route == "kuberesolver":
		return a.Route + ": the client watches the endpoints, so a change is pushed to it"
	}
	return ""
}
