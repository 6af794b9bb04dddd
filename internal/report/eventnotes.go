package report

import (
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// eventNotes explains the columns, and why a route shows what it shows.
func eventNotes(p *page, d result.Document, all []*eventOutcome, unseen bool, why balanceNotes) {
	text := "failed and late: calls until the next event, over all rounds. " + affectedNote(all)
	if times := timesShown(all); len(times) > 0 {
		text += "Times in ms, the median round, from the event until: " + and(times) + "."
	}
	p.note(strings.TrimSpace(text))
	if unseen {
		p.note(none + ": not seen before the next event in at least half of the rounds. " +
			"An event that removes backends adds no new one to call, and a client that sends an affected backend no calls has none to avoid.")
	}
	for _, text := range why.texts() {
		p.item(text)
	}
	policyNotes(p, all)
	proxyNotes(p, d, all)
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
func timesShown(all []*eventOutcome) (texts []string) {
	for step, text := range [steps]string{
		firstLoss:       "the first call was lost (first loss)",
		proxyReady:      "the killed proxy was ready again (proxy ready)",
		recovered:       "no call was lost for 1 s (recovered)",
		avoided:         "callers avoided the affected backends for 1 s (avoided)",
		ready:           "the cluster had published the change (ready)",
		resolverUpdated: "the client's resolver was updated (resolver)",
		firstCall:       "a new backend answered its first call (first call)",
		balancedAgain:   "calls were balanced again: Jain's index at 0.95 or more for 1 s (balanced)",
	} {
		shown := func(h *eventOutcome) bool {
			return !math.IsInf(median(h.took[step]), 1) || step == avoided && h.fair > 0
		}
		if slices.ContainsFunc(all, shown) {
			texts = append(texts, text)
		}
	}
	return texts
}

// balanceNotes are the reasons why a balance was not seen restored, and whose.
type balanceNotes struct {
	reasons mergedTexts
	whose   [][]string // arms, for each reason
}

// add takes the reasons of an arm that shows no time.
func (b *balanceNotes) add(h *eventOutcome) {
	if !math.IsInf(median(h.took[balancedAgain]), 1) {
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
		out = append(out, "balance was not restored for "+and(b.whose[i])+": "+strings.TrimRight(reason, "."))
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

// lag says how a change of the backends reaches an arm's calls.
func lag(a result.Arm) string {
	settings := a.Settings()
	switch {
	case settings.Caller.Stream != nil && settings.Server.AgeGrace != nil:
		return "streams that servers close: those that begin again find new backends. A grpc-go server writes nothing more for up to " +
			"1 s before it closes a connection, and the messages that it still reads in that time fail with it"
	case settings.Caller.Stream != nil:
		return "streams: whatever the resolver reports, a message goes to the backend on which its stream began; " +
			"only streams that begin again find new backends"
	case a.PickedBy == pickedByKernel && a.Channel == "per-call":
		return a.Route + ", a channel per call: the client is not updated, but every new connection goes to a ready backend"
	case a.Update != "":
		return clean(a.Route + ": " + a.Update)
	}
	return ""
}
