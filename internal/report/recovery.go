package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// asksAboutEvents says whether a run adds, removes or kills something under load. Then the question is
// which calls are lost and how soon clients recover, not which latency is lower.
func asksAboutEvents(d result.Document) bool {
	return slices.ContainsFunc(d.Events, func(e result.Event) bool {
		return slices.Contains(disturbing, e.Action) && e.Error == ""
	})
}

// disturbing are the actions that clients have to recover from. Others leave every backend in service.
var disturbing = []result.Action{result.ActionScale, result.ActionStop, result.ActionKill, result.ActionRoll, result.ActionDrain, result.ActionCut, result.ActionDNS, result.ActionKillProxy, result.ActionKillControl}

// recovery is the effect of one event on every arm, over all rounds and cells.
type recovery struct {
	what       string
	action     result.Action
	count      int
	resets     bool                 // connections, of backends that stay in service
	step       int                  // the time that says how soon clients recovered
	took       map[string][]float64 // by arm, of its cells, +Inf if not observed; without cells that had nothing to recover from
	resends    map[string]bool      // arms whose callers send calls again, in any cell
	failed     map[string]bool      // arms in which rpclab could not perform the event, in any cell
	unknown    map[string]string    // why a time is not known, by arm, in any cell: as the table shows it
	unfinished bool                 // in any round of any arm
}

// recoveries are those of all events that have a recovery time in any arm, or from which no affected arm recovered.
func recoveries(d result.Document) (all []recovery) {
	byPlace := map[int][]*eventOutcome{}
	last := -1
	events := eventsByArm(d)
	for _, in := range d.ArmsByCell() {
		for _, o := range eventOutcomes(in.All, events) {
			byPlace[o.place] = append(byPlace[o.place], o)
			last = max(last, o.place)
		}
	}
	for place := range last + 1 {
		mine := byPlace[place]
		step, observed, is := recoveryStep(mine)
		if !is {
			continue
		}
		r := recovery{what: mine[0].what, action: mine[0].action, count: mine[0].count, resets: mine[0].resets, step: step, took: map[string][]float64{}, resends: map[string]bool{}, failed: map[string]bool{}, unknown: map[string]string{}}
		for _, o := range mine {
			r.unfinished = r.unfinished || o.unfinished
			took := o.typical(step)
			r.resends[o.arm] = r.resends[o.arm] || step == avoided && o.resends && !o.resets
			switch {
			case !o.isPerformed():
				r.failed[o.arm] = true
			case o.backendsUnknown && step != recovered:
				r.unknown[o.arm] = notKnown
			case step == firstCall && len(o.took[step]) == 0, step != firstCall && math.IsInf(took, 1) && o.isUntouched():
			case o.whyUnknown(step) != "":
				r.unknown[o.arm] = o.whyUnknown(step)
			default:
				r.took[o.arm] = append(r.took[o.arm], took)
			}
		}
		if observed || len(r.took) > 0 || slices.ContainsFunc(slices.Collect(maps.Values(r.unknown)), func(why string) bool { return why != notKnown }) {
			all = append(all, r)
		}
	}
	return all
}

// recoveryStep returns the time that shows the recovery: after a kill, until callers avoid the killed backends;
// after the kill of a proxy, until calls are answered; after other changes, until a new backend answers. observed: any arm has
// this time; else it is the time of an arm that the event affects. is: there is such a time.
func recoveryStep(mine []*eventOutcome) (step int, observed, is bool) {
	order := []int{firstCall, recovered, avoided}
	if len(mine) > 0 && slices.Contains([]result.Action{result.ActionKill, result.ActionStop, result.ActionDrain, result.ActionCut}, mine[0].action) {
		order = []int{avoided, recovered, firstCall}
	}
	for _, step := range order {
		if slices.ContainsFunc(mine, func(o *eventOutcome) bool { return !math.IsInf(o.typical(step), 1) }) {
			return step, true, true
		}
	}
	if len(mine) == 0 || !slices.Contains(disturbing, mine[0].action) {
		return 0, false, false
	}
	needed := map[int]func(*eventOutcome) bool{
		firstCall: func(o *eventOutcome) bool { return o.added },
		recovered: func(o *eventOutcome) bool {
			return slices.Contains([]result.Action{result.ActionKillProxy, result.ActionKillControl, result.ActionDNS}, o.action)
		},
		avoided: func(o *eventOutcome) bool { return o.affects },
	}
	for _, step := range order {
		if slices.ContainsFunc(mine, needed[step]) {
			return step, false, true
		}
	}
	return 0, false, false
}

// recoveryTable has a row for each arm: the calls that it lost, and how soon it recovered from each event.
func recoveryTable(p *page, d result.Document, most int) {
	all := recoveries(d)
	t := table{columns: []column{{"arm", false}, {"lost calls", true}}}
	var until, others distinct
	after := map[string][]string{} // the events of each
	for _, r := range all {
		t.columns = append(t.columns, column{"after " + clean(r.what), true})
		until.add(r.until())
		after[r.until()] = append(after[r.until()], clean(r.what))
	}
	names, of := armNames(d), lossesByArm(d)
	if len(names) > most { // show the arms that lost calls
		byLosses(names, of)
	}
	for _, name := range names[:min(most, len(names))] {
		row := []string{clean(name), fmt.Sprintf("%s of %s", count(of[name].lost), count(of[name].due))}
		for _, r := range all {
			row = append(row, r.text(name))
			if took := r.took[name]; r.resends[name] && len(took) > 0 && !math.IsInf(slices.Max(took), 1) {
				others.add(clean(name))
			}
		}
		t.rows = append(t.rows, row)
	}
	p.grid(t)
	var notes []string
	for i, words := range until.list {
		until.list[i] += " (" + strings.Join(after[words], ", ")
		if words == noCall && len(others.list) > 0 {
			until.list[i] += "; in " + and(others.list) + ", until " + fromOthers
		}
		until.list[i] += ")"
	}
	if len(until.list) > 0 {
		notes = append(notes, "Time until "+strings.Join(until.list, " or ")+".")
	}
	shown := func(text string) bool {
		return slices.ContainsFunc(t.rows, func(row []string) bool { return slices.Contains(row, text) })
	}
	if shown(never) {
		notes = append(notes, never+": not before the next event or end.")
	}
	if shown(notKnown) {
		notes = append(notes, notKnown+": rpclab does not know which backends answered.")
	}
	if shown(tooShort) {
		notes = append(notes, tooShort+": the next event, or the last call, came too soon after the event.")
	}
	if shown(notComplete) {
		notes = append(notes, notComplete+": backends that rpclab had not replaced yet still served.")
	}
	if shown(none) {
		notes = append(notes, none+": not affected.")
	}
	if shown(notPerformed) {
		notes = append(notes, notPerformed+": rpclab could not perform the event.")
	}
	if hidden := len(names) - len(t.rows); hidden > 0 {
		notes = append(notes, plural(hidden, "more arm")+" not shown.")
	}
	if len(notes) > 0 {
		p.note(strings.Join(notes, " "))
	}
}

// countsLosses says whether callers have recovered when they lose no more calls, whichever backends they call.
func (r recovery) countsLosses() bool { return r.step == avoided && r.resets }

const noCall = "no call to affected backends"

// until says how the time ends.
func (r recovery) until() string {
	switch {
	case r.step == firstCall:
		return "success on a new backend"
	case r.step == recovered:
		return "calls are answered again"
	case r.countsLosses():
		return "no more calls were lost"
	}
	return noCall
}

// text is the range of an arm's times over its cells.
func (r recovery) text(arm string) string {
	took := r.took[arm]
	switch {
	case r.unknown[arm] != "":
		return r.unknown[arm]
	case len(took) == 0 && r.failed[arm]:
		return notPerformed
	case len(took) == 0:
		return none
	}
	return r.between(slices.Min(took), slices.Max(took))
}

// between is 197–273 ms.
func (r recovery) between(low, high float64) string {
	from, fromUnit := r.duration(low)
	to, toUnit := r.duration(high)
	switch {
	case from+fromUnit == to+toUnit:
		return to + toUnit
	case fromUnit == toUnit:
		return from + "–" + to + toUnit
	}
	return from + fromUnit + "–" + to + toUnit
}

// duration is a time as a number and its unit.
func (r recovery) duration(ms float64) (text, unit string) {
	switch {
	case math.IsInf(ms, 1):
		return never, ""
	case r.step != firstCall && ms <= countedEvery:
		return fmt.Sprintf("≤ %d", int(countedEvery)), " ms"
	case ms >= 9_950:
		return fmt.Sprintf("%.0f", ms/1000), " s"
	case ms >= 995:
		return fmt.Sprintf("%.1f", ms/1000), " s"
	}
	return fmt.Sprintf("%.0f", ms), " ms"
}

// answerOfEvents says which arms lost calls, and how soon each arm recovered from the first event that adds
// backends and from the first that removes some. The table shows the other events.
func answerOfEvents(d result.Document) string { return strings.Join(eventSentences(d), "") }

// eventSentences are those of the answer, each after the first with a space before it.
func eventSentences(d result.Document) []string {
	lost := lostInWords(d)
	if unperformed := unperformedInWords(d); unperformed != "" {
		lost += ", but " + unperformed
	}
	all := append([]string{lost + unfinishedInWords(d) + "."}, filled(beyondChance(d))...)
	said := map[string]bool{}
	for _, r := range recoveries(d) {
		if words := r.inWords(d); words != "" && !said[r.until()] {
			all = append(all, words)
			said[r.until()] = true
		}
	}
	return all
}

// lostInWords says which arms lost how many calls, and which lost none.
func lostInWords(d result.Document) string {
	var safe, lost []string
	names, of := armNames(d), lossesByArm(d)
	byLosses(names, of)
	for _, name := range names {
		n, due := of[name].lost, of[name].due
		switch {
		case due == 0:
		case n == 0:
			safe = append(safe, clean(name))
		case len(lost) == 0:
			lost = append(lost, fmt.Sprintf("%s lost %s of its calls", clean(name), shareOfCalls(of[name].share())))
		default:
			lost = append(lost, clean(name)+" "+shareOfCalls(of[name].share()))
		}
	}
	switch {
	case len(lost) == 0:
		return "No route lost a call"
	case len(safe) == 0:
		return listed(lost, mostNamed)
	case len(safe) > mostNamed-1:
		return listed(lost, mostNamed) + fmt.Sprintf("; the other %d arms lost none", len(safe))
	}
	return listed(lost, mostNamed) + "; " + and(safe) + " lost none"
}

// beyondChance says which arms certainly differ in lost calls or in the time until new backends are called, or
// how many rounds could tell; "": the run has no such verdict.
func beyondChance(d result.Document) string {
	var decided []string
	open := false
	for _, metric := range []string{"failed", "followed"} {
		for _, o := range outcomes(d, metric) {
			open = open || !o.decided()
		}
		sure := slices.DeleteFunc(outcomes(d, metric), func(o outcome) bool { return !o.decided() })
		decided = append(decided, answers(d, sure, metric)...)
	}
	switch least := roundsNeeded(d); {
	case len(decided) > 0:
		return " Statistically significant: " + strings.Join(decided, "; ") + "."
	case open && d.Rounds < least:
		return fmt.Sprintf(" %s cannot tell such differences from chance; %d can%s.", capital(plural(d.Rounds, "round")), least, inMoreRounds(d, least))
	case open:
		return " These differences between arms may be chance."
	}
	return ""
}

// inWords says how soon the arms recovered, and which did not, with a space before it; "": that is known of no arm.
func (r recovery) inWords(d result.Document) string {
	words, within, not := map[int]string{
		firstCall: "succeeded on a new backend", avoided: "stopped calling " + r.affected(), recovered: "received responses again",
	}[r.step], " within ", "never did"
	if r.countsLosses() {
		words, within, not = "lost no more calls", " after ", "had no whole second without lost calls before the next event or the end"
	}
	var did, didNot, others []string
	var high, highOthers float64
	for _, name := range armNames(d) {
		took := r.took[name]
		switch {
		case len(took) == 0 || r.unknown[name] != "":
		case math.IsInf(slices.Max(took), 1):
			didNot = append(didNot, clean(name))
		case r.resends[name]:
			others, highOthers = append(others, clean(name)), max(highOthers, slices.Max(took))
		default:
			did, high = append(did, clean(name)), max(high, slices.Max(took))
		}
	}
	limit := func(ms float64) string { return strings.TrimPrefix(r.between(ms, ms), "≤ ") }
	var clauses []string
	if len(did) > 0 {
		clauses = append(clauses, listed(did, mostNamed)+" "+words+within+limit(high))
	}
	if len(didNot) > 0 {
		if len(did) == 0 && !r.countsLosses() {
			not = "never " + words
		}
		clauses = append(clauses, listed(didNot, mostNamed)+" "+not)
	}
	if len(others) > 0 {
		clauses = append(clauses, listed(others, mostNamed)+" received responses from other backends within "+limit(highOthers)+", but may still call the affected ones")
	}
	if len(clauses) == 0 {
		return ""
	}
	return " " + r.actionInWords() + ", " + strings.Join(clauses, "; ") + "."
}

// affected names the backends that the event affected, after actionInWords.
func (r recovery) affected() string {
	switch {
	case r.action != result.ActionKill && r.action != result.ActionStop:
		return "the affected backends"
	case r.count == 1:
		return "it"
	}
	return "them"
}

// actionInWords begins a sentence with what rpclab did.
func (r recovery) actionInWords() string {
	switch r.action {
	case result.ActionScale:
		return fmt.Sprintf("When rpclab scaled to %d backends", r.count)
	case result.ActionKill:
		return "When rpclab killed " + plural(r.count, "backend")
	case result.ActionStop:
		return "When rpclab stopped " + plural(r.count, "backend")
	case result.ActionRoll:
		if r.unfinished {
			return "When rpclab replaced backends"
		}
		return "When rpclab replaced every backend"
	case result.ActionKillProxy:
		return "When rpclab killed the proxy"
	case result.ActionKillControl:
		return "When rpclab killed the control plane"
	}
	return "After " + clean(r.what)
}
