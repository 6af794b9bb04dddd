package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

const (
	// tooManyLost is the share of calls without a response above which the latency of the
	// other calls does not represent the arm.
	tooManyLost = 0.01
	// mostThrottled is the largest share of the needed CPU time that a quota may withhold in an
	// arm's median trial. A quota slows the arm that needs more CPU time more.
	mostThrottled = 0.05
	// mostStolen is the largest share of CPU time that a hypervisor may take. It slows both arms of a
	// round alike, so a small share makes intervals wider but does not shift them.
	mostStolen = 0.2
	// leastSteps is how many clock steps the median latency must last to be compared with a similar one.
	leastSteps = 100
)

// reason is why there is no verdict, as a sentence and as fields. An empty text means no reason.
type reason struct {
	text  string
	cause result.Cause
}

// reasonOf converts a reason of package verdict, which names no arm.
func reasonOf(text string, c verdict.Cause) reason {
	return reason{text, result.Cause{Kind: result.CauseKind(c.Kind), Have: c.Have, Needed: c.Needed, Groups: c.Groups, Difference: c.Difference, Margin: c.Margin}}
}

// fields returns the cause, or nil if there is no reason.
func (r reason) fields() *result.Cause {
	if r.text == "" {
		return nil
	}
	return &r.cause
}

// unfitPair returns why two arms cannot be compared on a metric, whatever the values are.
func unfitPair(m metric, d result.Document, a, b result.Arm) reason {
	if why := unfitArm(m, d, a); why.text != "" {
		return why
	}
	if why := unfitArm(m, d, b); why.text != "" {
		return why
	}
	if why := coarseClock(m, d.Machine.ClockNS, a, b); why.text != "" {
		return why
	}
	return coarseSteps(m, a, b)
}

// lowerBounds says why a decision does not follow from values that are only lower bounds. If only one arm has
// them, one decision does follow: that it is worse. While that is undecided, more rounds may show it.
func lowerBounds(m metric, a, b result.Arm, decision string) reason {
	var lost []string
	least := 1.0
	for _, arm := range []result.Arm{a, b} {
		if m.bounded(arm) {
			lost = append(lost, fmt.Sprintf("%.1f %% of the calls of %s", 100*arm.Lost(), arm.Name))
			least = min(least, arm.Lost())
		}
	}
	worse := verdict.Worse
	if m.bounded(b) {
		worse = verdict.Better
	}
	follows := decision == string(worse) || decision == string(verdict.Undecided)
	if len(lost) == 0 || len(lost) == 1 && follows || m.byRank { // ranks have a place for "never"
		return reason{}
	}
	return reason{fmt.Sprintf("%s failed or were dropped, so that %s is known only to exceed the deadline", strings.Join(lost, " and "), m.short()),
		result.Cause{Kind: result.CauseLostCalls, Share: least}}
}

// bound says on which side of the measured ratio the true ratio of a to b is, if one arm has only lower bounds.
func (m metric) bound(a, b result.Arm) result.RatioBound {
	switch lowerA, lowerB := m.bounded(a), m.bounded(b); {
	case lowerA && !lowerB:
		return result.LowerBound
	case lowerB && !lowerA:
		return result.UpperBound
	}
	return ""
}

// bounded reports whether a trial of the arm has only a lower bound of the metric: the percentile is that of
// lost calls, or something did not happen in time.
func (m metric) bounded(arm result.Arm) bool {
	return slices.ContainsFunc(arm.Trials, func(t result.Trial) bool {
		return t.Failed == "" && (m.allDue && t.Latency.AtLeast(100*(1-m.tail)) || m.byRank && math.IsInf(m.of(t), 1))
	})
}

// short returns the name of a latency in tables: p99.9.
func (m metric) short() string {
	return strings.Replace(strings.TrimPrefix(m.name, "latency_"), "p999", "p99.9", 1)
}

// unfitArm returns why an arm's values do not represent the arm.
func unfitArm(m metric, d result.Document, arm result.Arm) reason {
	for _, guard := range []func(metric, result.Document, result.Arm) reason{
		searchedRate, failedTrials, eventLacking, generatorLimited, noCapacity, noBalance, lostCalls, tooFewCalls, interfered, crowded,
	} {
		if why := guard(m, d, arm); why.text != "" {
			why.cause.Arm = arm.Name
			return why
		}
	}
	return reason{}
}

// searchedRate rejects the latency and rate of a search, whose ratio to those of another rate means nothing.
func searchedRate(m metric, _ result.Document, arm result.Arm) reason {
	if m.kind != pacedLoad || arm.Capacity == nil {
		return reason{}
	}
	return reason{text: fmt.Sprintf("a search measures %s at a rate of its own, so %s is not comparable: compare capacity", arm.Name, m.short())}
}

// failedTrials rejects arms with failed trials: a round without a measurement is not a pair.
func failedTrials(_ metric, _ result.Document, arm result.Arm) reason {
	var without []result.Trial
	for _, t := range arm.Trials {
		if t.Failed != "" && !wasInterrupted(t) {
			without = append(without, t)
		}
	}
	if len(without) == 0 {
		return reason{}
	}
	failed, rounds := result.RoundsOf(without), result.RoundsOf(arm.Trials)
	text := fmt.Sprintf("%d of %d rounds of %s gave no measurement", failed, rounds, arm.Name)
	if !slices.ContainsFunc(without, func(t result.Trial) bool { return !lowestFailed(t) }) {
		text = fmt.Sprintf("in %d of %d rounds of %s not even the lowest rate, %s, holds: lower load.search.from (rpclab load: --search-from), or ask for less",
			failed, rounds, arm.Name, rateText(lowestRate(*without[0].Capacity)))
	}
	return reason{text, result.Cause{Kind: result.CauseFailedTrials, Have: float64(rounds - failed), Needed: float64(rounds)}}
}

// noCapacity rejects arms with searches that found no rate that fails, so that the capacity is above every rate that they tried.
func noCapacity(m metric, _ result.Document, arm result.Arm) reason {
	var without []result.Trial
	for _, t := range arm.Trials {
		if m.kind == searchLoad && t.Capacity != nil && t.Capacity.Rate == 0 && t.Failed == "" {
			without = append(without, t)
		}
	}
	if len(without) == 0 {
		return reason{}
	}
	what, remedy := "the probes found no rate that fails", "make load.search.duration longer (rpclab load: --duration)"
	if i := slices.IndexFunc(without, highestHolds); i >= 0 {
		what, remedy = "even the highest rate, "+rateText(without[i].Capacity.Holds)+", holds", "raise load.search.to (rpclab load: --search-to)"
	}
	return reason{fmt.Sprintf("in %d of %d rounds of %s %s, so the capacity is not known: %s", result.RoundsOf(without), result.RoundsOf(arm.Trials), arm.Name, what, remedy),
		result.Cause{Kind: result.CauseValue}}
}

// noBalance rejects arms with a trial of fewer than two backends, or whose backends are not known.
func noBalance(m metric, _ result.Document, arm result.Arm) reason {
	for _, t := range arm.Trials {
		if backends := t.BalanceOver(); m.name == "balance" && t.Failed == "" && backends < 2 {
			why := [...]string{"rpclab does not know which backends answered " + arm.Name, arm.Name + " has one backend"}[backends]
			return reason{"balance is not compared: " + why, result.Cause{Kind: result.CauseValue}}
		}
	}
	return reason{}
}

// eventLacking rejects arms with a trial in which an event does not count: without its kill, a trial would show that a kill
// costs nothing.
func eventLacking(_ metric, _ result.Document, arm result.Arm) reason {
	for _, t := range arm.Trials {
		if event, why := t.Lacks(); event != "" {
			return reason{fmt.Sprintf("%s in round %d of %s: %s", event, t.Round, arm.Name, why), result.Cause{Kind: result.CauseEvent}}
		}
	}
	return reason{}
}

// generatorLimited rejects arms whose load generator determined the metric.
func generatorLimited(m metric, d result.Document, arm result.Arm) reason {
	limited := m.limit(arm, d.Margin)
	if len(d.MergedRounds) > 0 { // a late trial of a short run weighs more than one of a long run
		limited = cmp.Or(limited, m.raised(arm).first)
	}
	if limited == "" {
		return reason{}
	}
	return reason{fmt.Sprintf("the load generator was the bottleneck in %s: %s", arm.Name, limited), result.Cause{Kind: result.CauseGenerator}}
}

func lostCalls(m metric, _ result.Document, arm result.Arm) reason {
	// Documents of earlier versions do not count lost calls in the latency.
	answers := m.answers || m.allDue && arm.Latency.Lost == 0
	if lost := arm.Lost(); answers && lost > tooManyLost {
		return reason{fmt.Sprintf("%.1f %% of the calls of %s failed or were dropped; those that were answered do not represent it", 100*lost, arm.Name),
			result.Cause{Kind: result.CauseLostCalls, Share: lost}}
	}
	return reason{}
}

// unknownOf reports whether no round of an arm has a value of the metric, where no other guard says why.
func (m metric) unknownOf(arm result.Arm) bool {
	searched := m.kind == searchLoad && arm.Capacity != nil // if no rate holds, other guards say why
	failed := slices.ContainsFunc(arm.Trials, func(t result.Trial) bool { return t.Failed != "" })
	known := slices.ContainsFunc(arm.Trials, func(t result.Trial) bool { return m.of(t) > 0 }) // never is a value
	return len(arm.Trials) > 0 && !m.zero && !m.byRank && !searched && !failed && !known && arm.Lost() <= tooManyLost
}

func tooFewCalls(m metric, d result.Document, arm result.Arm) reason {
	if m.tail == 0 {
		return reason{}
	}
	fewest := uint64(math.MaxUint64)
	for _, t := range arm.Trials {
		if t.Failed == "" {
			fewest = min(fewest, t.Calls)
		}
	}
	if fewest == math.MaxUint64 || !verdict.TooFew(fewest, m.tail) {
		return reason{}
	}
	needed := math.Ceil(10/m.tail - 1e-6)
	counted := fmt.Sprintf("a trial of %s has", arm.Name)
	if inTurns := cmp.Or(d.Design, "isolated") != "isolated"; inTurns && !tookTurns(arm) { // one group, which has all cycles
		counted = fmt.Sprintf("all trials of %s together have", arm.Name)
	}
	return reason{fmt.Sprintf("%s %d calls; %s needs %.0f, so that ten calls exceed it: %s",
		counted, fewest, m.short(), needed, moreCalls(d, arm, needed)),
		result.Cause{Kind: result.CauseCalls, Have: float64(fewest), Needed: needed}}
}

// moreCalls returns advice on how to make enough calls in a trial.
func moreCalls(d result.Document, arm result.Arm, needed float64) string {
	advice := "make more"
	if d.Quick {
		advice = "run it without --quick, or make more"
	}
	load := arm.Settings().Load
	if load == nil {
		return advice
	}
	for path, set := range map[string]any{"load.burst": load.Burst, "load.sequence": load.Sequence, "load.closed.calls": load.Closed.Calls} {
		if _, swept := arm.Cell[path]; set != nil && !swept {
			advice += fmt.Sprintf(" (--set %s=%.0f)", path, needed)
		}
	}
	return advice
}

// coarseClock rejects two arms if a median latency lasts too few steps of the clock, unless one is over twice the
// other, even if both are wrong by a step.
func coarseClock(m metric, stepNS float64, a, b result.Arm) reason {
	shorter, longer := a, b
	if b.Latency.P50 < a.Latency.P50 {
		shorter, longer = b, a
	}
	step, least := stepNS/1e6, shorter.Latency.P50
	if m.tail == 0 || step == 0 || shorter.Latency.Empty() || longer.Latency.Empty() || least >= leastSteps*step || longer.Latency.P50-step > 2*(least+step) {
		return reason{}
	}
	return reason{fmt.Sprintf("the clock of this machine has steps of %.3g µs, too coarse for the %.3g µs of %s", stepNS/1e3, least*1e3, shorter.Name),
		result.Cause{Kind: result.CauseClock, Arm: shorter.Name}}
}

// coarseSteps rejects arms whose medians differ by at most one step of the metric: the true values may differ
// by up to two steps.
func coarseSteps(m metric, a, b result.Arm) reason {
	apart := math.Abs(verdict.Median(values(a, m.of)) - verdict.Median(values(b, m.of)))
	if m.step == 0 || !(apart <= 1.5*m.step) {
		return reason{}
	}
	return reason{fmt.Sprintf("%s is measured in steps of %g ms, and the two differ by one step at most", m.name, m.step), result.Cause{Kind: result.CauseSteps}}
}

// oneProcess rejects the memory of arms that took turns. Their processes stay up in all rounds, so rounds repeat the
// reading and not the measurement.
func oneProcess(m metric, a result.Arm) reason {
	if !strings.HasSuffix(m.name, "_memory") || !tookTurns(a) {
		return reason{}
	}
	return reason{"the processes of arms that take turns stay up in all rounds, so each has one value of memory in a run; --set design=isolated starts them for each round",
		result.Cause{Kind: result.CauseProcess}}
}

// interfered rejects an arm if other machines, or a quota, withheld too much CPU time from its trials.
func interfered(_ metric, d result.Document, arm result.Arm) reason {
	var stolen, throttled []float64
	for _, t := range arm.Trials {
		if t.Machine != nil {
			stolen, throttled = append(stolen, t.Machine.Stolen), append(throttled, t.Machine.Throttled)
		}
	}
	machine, limit := "machine", "the CPU limit of the control group"
	if d.Cluster == "kubernetes" {
		machine, limit = "cluster", "the CPU limit that the cluster gives its pods (LimitRange)"
	}
	var why []string
	most := 0.0
	if s := verdict.Median(stolen); s > mostStolen {
		why = append(why, fmt.Sprintf("other machines on this hardware took %.0f %% of the CPU time that trials of %s needed (steal): use a quieter %s", 100*s, arm.Name, machine))
		most = s
	}
	if q := verdict.Median(throttled); q > mostThrottled {
		why = append(why, fmt.Sprintf("trials of %s were throttled: a quota took %.0f %% of the CPU time that they needed; raise %s", arm.Name, 100*q, limit))
		most = max(most, q)
	}
	return reason{strings.Join(why, "; "), result.Cause{Kind: result.CauseInterference, Share: most}}
}

// crowded rejects arms that ran at the same time and kept the machine busy: the difference between them depends on how they
// share it.
func crowded(_ metric, d result.Document, arm result.Arm) reason {
	busy := busyTogether(d, arm)
	if busy <= mostBusyTogether {
		return reason{}
	}
	return reason{fmt.Sprintf("%s ran at the same time as another arm, and %.0f %% of the CPU time was in use, so each slowed the other: use a lower load, or design: interleaved", arm.Name, 100*busy),
		result.Cause{Kind: result.CauseInterference, Share: busy}}
}

// tookTurns reports whether the trials of an arm are of blocks. Groups of cycles have none.
func tookTurns(a result.Arm) bool {
	return slices.ContainsFunc(a.Trials, func(t result.Trial) bool { return len(t.Blocks) > 0 })
}
