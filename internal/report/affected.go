package report

import (
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// stays says whether the backends that an event hits are there as before and yet not, so
// that a share of calls on them says something.
func (h *eventOutcome) stays() bool {
	return !h.resets && slices.Contains([]result.Action{result.ActionSlow, result.ActionFail, result.ActionPause, result.ActionFlap, result.ActionCut}, h.action)
}

// share is what the backends hit answered of the calls due until the next event; "" where
// that says nothing.
func (h *eventOutcome) share() string {
	if !h.stays() || h.answered == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*float64(h.byHit)/float64(h.answered))
}

// affectedNote explains the column of shares.
func affectedNote(all []*eventOutcome) string {
	var fair []string
	for _, h := range all {
		if share := fmt.Sprintf("%.0f %%", 100*h.fair); h.share() != "" && !slices.Contains(fair, share) {
			fair = append(fair, share)
		}
	}
	const text = "on affected: the share of the answered calls that the affected backends answered"
	switch len(fair) {
	case 0:
		return ""
	case 1:
		return text + "; " + fair[0] + " would be fair. "
	}
	return text + ". "
}

// policyBehavior says what the way in which an arm spreads calls does with a backend that is
// slow or fails, "" where nothing is known of it.
func policyBehavior(a result.Arm) string {
	text := policies[a.Policy]
	if a.PickedBy == pickedByKernel && a.Policy == "" {
		text = "a connection goes to a backend drawn at random and stays there, however that one does"
	}
	settings := a.Settings()
	if text != "" && settings.Outlier != nil {
		text += "; outlier detection leaves out backends whose calls fail, and sees no slowness before calls fail by their deadline"
	}
	if settings.Caller.Hedge != nil {
		text += "; hedging makes a call that takes long again, mostly elsewhere: answers of the slow backend are not waited for, but it still gets its calls"
	}
	if settings.Caller.Retry != nil {
		text += "; a retry makes a call that failed again, mostly elsewhere: it hides failures, and not slowness"
	}
	return strings.TrimPrefix(text, "; ")
}

var policies = map[string]string{
	"round_robin": "round robin gives every backend the same number of calls, however long it takes for them; " +
		"where one is slower than its share comes in, a queue grows there",
	"least_request": "least request takes, of two backends drawn at random, the one with fewer calls in flight; " +
		"on a slow one they pile up at once, so it gets few",
	"least_conn": "least conn takes, of all backends, the one with the fewest calls in flight; " +
		"on a slow one they pile up at once, so it gets few",
	"random": "random draws a backend for each call, whatever the backends do",
	"weighted_round_robin": "weighted round robin goes by what backends report with their answers (ORCA), here calls answered a second " +
		"over calls under way; one that takes ten times as long gets a tenth, as soon as its first slow answers are there",
	"ring_hash":  "ring hash sends the same key to the same backend, however that one does",
	"pick_first": "pick first keeps to one backend as long as its connection stands, however that one does",
}

// policyNotes explain, once for each way, why the backends hit got their share. An arm
// that has several ways in a sweep says in which cells.
func policyNotes(p *page, all []*eventOutcome) {
	var texts []string
	ways := map[string][]string{} // of an arm
	for _, h := range all {
		if h.share() == "" || h.spread == "" {
			continue
		}
		if !slices.Contains(texts, h.spread) {
			texts = append(texts, h.spread)
		}
		if !slices.Contains(ways[h.arm], h.spread) {
			ways[h.arm] = append(ways[h.arm], h.spread)
		}
	}
	for _, text := range texts {
		var whose []string
		for _, h := range all {
			name := clean(h.arm)
			if len(ways[h.arm]) > 1 {
				name += at(h.cell)
			}
			if h.spread == text && h.share() != "" && !slices.Contains(whose, name) {
				whose = append(whose, name)
			}
		}
		p.item(and(whose) + ": " + text)
	}
}
