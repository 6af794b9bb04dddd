package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// eventNotes explains the columns and the behaviour of each arm.
func eventNotes(p *page, d result.Document, all []*eventOutcome, unseen bool) {
	text := "failed and late count calls until the next event, over all rounds. " + affectedNote(all)
	if times := timesShown(all); len(times) > 0 {
		text += "The other columns are ms after the event, in the median round. " + strings.Join(times, ". ") + "."
	}
	p.note(strings.TrimSpace(text))
	if unseen {
		added := "no backend was added"
		if slices.ContainsFunc(all, func(o *eventOutcome) bool { return o.calledUnready }) {
			added += ", or the client called it while it was not ready"
		}
		p.note(none + ": not observed before the next event in half of the rounds or more, or not possible: " + added + " (first call), or the client " +
			"called no affected backend before (" + strings.Join(columnsOfAvoided(all), ", ") + ").")
	}
	for _, r := range balanceReasons(all).list {
		p.item("no time for balanced in " + and(r.arms.list) + ": " + strings.TrimRight(r.sentence(), "."))
	}
	policyNotes(p, all)
	proxyNotes(p, d, all)
	said, hasEvents := map[string]bool{}, map[string]bool{}
	for _, e := range d.Events {
		hasEvents[e.Arm] = true
	}
	for _, arm := range d.Arms {
		text := lag(arm)
		if text == "" || said[text] || !hasEvents[arm.Name] {
			continue
		}
		said[text] = true
		p.item(text)
	}
}

// timesShown explains the columns of times that any event has.
func timesShown(all []*eventOutcome) (texts []string) {
	for step, text := range [steps]string{
		firstLoss:       "first loss: when the first call was lost",
		proxyReady:      "proxy ready: when the killed proxy was ready again",
		recovered:       "recovered: when calls were answered again, for 1 s or more",
		avoided:         "avoided: when callers began to avoid the affected backends, for 1 s or more",
		ready:           "ready: when the cluster published the change",
		resolverUpdated: "resolver: when the client's resolver was updated",
		firstCall:       "first call: when a new backend answered its first call",
		balancedAgain:   "balanced: when Jain's index reached 0.95, for 1 s or more",
	} {
		if slices.ContainsFunc(all, func(h *eventOutcome) bool { return h.shows(step) && !(step == avoided && h.resets) }) {
			texts = append(texts, text+whoResends(step, all))
		}
		if step == avoided && slices.ContainsFunc(all, func(h *eventOutcome) bool { return h.shows(step) && h.resets }) {
			texts = append(texts, lossColumn+": from when no call was lost, for 1 s or more")
		}
	}
	return texts
}

// shows says whether the table of an event has the column of a time because of this arm.
func (o *eventOutcome) shows(step int) bool {
	return !math.IsInf(o.typical(step), 1) || step == avoided && o.fair > 0
}

// whoResends says in which arms the time until backends are avoided is another one; "": in none.
func whoResends(step int, all []*eventOutcome) string {
	var names distinct
	for _, o := range all {
		if step == avoided && o.resends && !o.resets && !math.IsInf(o.typical(step), 1) {
			names.add(clean(o.arm))
		}
	}
	if len(names.list) == 0 {
		return ""
	}
	return "; in " + listed(names.list, mostNamed) + ", where callers send calls again, when " + fromOthers
}

func columnsOfAvoided(all []*eventOutcome) []string {
	var names distinct
	for _, o := range all {
		if o.fair > 0 {
			names.add(o.columnOfAvoided())
		}
	}
	if len(names.list) == 0 {
		return []string{"avoided"}
	}
	return names.list
}

// balanceReasons say why balance was not restored, for arms without a time.
func balanceReasons(all []*eventOutcome) (reasons mergedReasons) {
	for _, o := range all {
		if !math.IsInf(o.typical(balancedAgain), 1) {
			continue
		}
		for _, t := range o.unrestored {
			reasons.add(clean(t.BalanceNote), t.BalanceCause, clean(o.arm))
		}
	}
	return reasons
}

// lag says how an arm learns of a change of backends.
func lag(a result.Arm) string {
	settings := a.Settings()
	switch {
	case settings.Caller.Stream != nil && settings.Server.AgeGrace != nil:
		return "servers close streams, and new streams use new backends. A grpc-go server writes nothing for up to " +
			"1 s before it closes a connection, and messages that it reads in that time fail"
	case settings.Caller.Stream != nil:
		return "streams: a message goes to the backend of its stream, whatever the resolver reports; " +
			"only new streams use new backends"
	case a.PickedBy == pickedByKernel && a.Channel == "per-call":
		return "route " + a.Route + ", a channel per call: the client is not updated, but every new connection goes to a ready backend"
	case a.Update != "":
		return clean("route " + a.Route + ": " + a.Update)
	}
	return ""
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

// policyNotes explain each policy once. An arm with several policies in a sweep is named with its
// cells.
func policyNotes(p *page, all []*eventOutcome) {
	var texts []string
	byArm := map[string][]string{} // the policies of each arm
	for _, h := range all {
		if h.share() == "" || h.policy == "" {
			continue
		}
		if !slices.Contains(texts, h.policy) {
			texts = append(texts, h.policy)
		}
		if !slices.Contains(byArm[h.arm], h.policy) {
			byArm[h.arm] = append(byArm[h.arm], h.policy)
		}
	}
	for _, text := range texts {
		var whose []string
		for _, h := range all {
			name := clean(h.arm)
			if len(byArm[h.arm]) > 1 {
				name += at(h.cell)
			}
			if h.policy == text && h.share() != "" && !slices.Contains(whose, name) {
				whose = append(whose, name)
			}
		}
		p.item(and(whose) + ": " + text)
	}
}

// proxyNotes say what the loss of a proxy or of the control plane did to calls.
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

// slowReconnects compares the time until a proxy was ready with the time until its clients got
// answers again, where that was longer than a call.
func slowReconnects(d result.Document, all []*eventOutcome) string {
	var waited []string
	grpc, arms := true, armsByName(d)
	for _, h := range all {
		back, served, call := h.typical(proxyReady), h.typical(recovered), 0.0
		for _, arm := range arms[h.arm] {
			call = max(call, arm.Latency.P50)
		}
		if math.IsInf(back, 1) || math.IsInf(served, 1) || served-back < 2*countedEvery+call {
			continue
		}
		waited = append(waited, fmt.Sprintf("%s %s and %s ms", clean(h.arm), ms(back), number(served)))
		for _, arm := range arms[h.arm] {
			grpc = grpc && arm.Settings().Caller.Kind == "grpc-go"
		}
	}
	if len(waited) == 0 {
		return ""
	}
	text := "time until the proxy was ready, and until its clients received responses again: " + strings.Join(waited, ", ") + ". The difference is the reconnect delay of the clients"
	if grpc {
		text += ": grpc-go reconnects at once and, if the proxy is not ready, again after 1 s, 20 % more or less"
	}
	return text
}

// afterControlPlaneLoss says whether clients discovered the first change of backends after the loss of the control plane.
func afterControlPlaneLoss(killed *eventOutcome, later []*eventOutcome) string {
	text := clean(killed.arm) + ": no call fails without the control plane, since clients and proxies keep the backends that they know"
	for _, h := range later {
		gone := h.fair > 0 && h.action == result.ActionScale
		if h.arm != killed.arm || h.cell.Key() != killed.cell.Key() || gone || math.IsInf(h.typical(ready), 1) {
			continue
		}
		discovered := math.Min(h.typical(resolverUpdated), h.typical(firstCall))
		if math.IsInf(discovered, 1) {
			return text + fmt.Sprintf(". Clients did not discover the next change (%s): no new backend received a call", clean(h.what))
		}
		return text + fmt.Sprintf(". Clients still discovered the next change (%s), after %s ms", clean(h.what), ms(discovered))
	}
	return text
}

// unperformedInWords says which events rpclab could not perform, so that they could not cost calls; "": none.
func unperformedInWords(d result.Document) string {
	var events, arms distinct
	for _, e := range d.Events {
		if e.Error != "" {
			events.add(clean(e.What))
			arms.add(clean(e.Arm))
		}
	}
	if len(events.list) == 0 {
		return ""
	}
	return "rpclab could not perform " + and(events.list) + " in " + listed(arms.list, mostNamed)
}

// unfinishedInWords says which rollouts and scalings were not complete at the end of the load, so that calls may be lost
// after it, and which backends did not start, if that may be why; "": none.
func unfinishedInWords(d result.Document) (text string) {
	var short, ended struct{ events, arms distinct }
	why := ""
	for _, e := range d.Events {
		if e.Unfinished == nil {
			continue
		}
		all, lost := &short, lostBackend(d, e)
		if lost != "" {
			all, why = &ended, cmp.Or(why, lost)
		}
		all.events.add(map[bool]string{true: "the rollout", false: clean(e.What)}[e.Action == result.ActionRoll])
		all.arms.add(clean(e.Arm))
	}
	conjunction := ", but "
	if len(short.events.list) > 0 {
		text = conjunction + "the load ended before " + and(short.events.list) + " was complete in " + listed(short.arms.list, mostNamed)
		conjunction = ", and "
	}
	if len(ended.events.list) > 0 {
		text += conjunction + and(ended.events.list) + " was not complete in " + listed(ended.arms.list, mostNamed) + ": " + why
	}
	return text
}

// lostBackend names the first backend that exited or did not start in the trial of an event, with the end of its log;
// "": there is none.
func lostBackend(d result.Document, e result.Event) string {
	for _, a := range d.Arms {
		for _, t := range a.Trials {
			if a.Name != e.Arm || a.Cell.Key() != e.Cell.Key() || t.Round != e.Round || len(t.Lost) == 0 {
				continue
			}
			const longest = 100 // that an answer quotes
			what, _, _ := strings.Cut(t.Lost[0], "\n")
			what, _, _ = strings.Cut(what, "; its command")
			_, log, logged := strings.Cut(t.Lost[0], "its last lines:\n")
			if what = cut(clean(what), longest); logged {
				lines := strings.Split(strings.TrimSpace(log), "\n")
				what += " (" + cut(clean(strings.TrimSpace(lines[len(lines)-1])), longest) + ")"
			}
			return what
		}
	}
	return ""
}
