package report

import (
	"fmt"

	"rpclab/internal/result"
)

// reason is why something is not known. All arms and figures with this reason share it.
type reason struct {
	text  string        // of an interval: its metric
	cause *result.Cause // of the first; nil: a document of an older version has the text alone
	arms  distinct
	// The ranges of the figures.
	have, needed, difference figures
}

// figures are the lowest and the highest of several figures.
type figures struct{ low, high float64 }

func (f *figures) include(v float64) { f.low, f.high = min(f.low, v), max(f.high, v) }

// mergedReasons are reasons without repetitions.
type mergedReasons struct {
	list  []*reason
	byKey map[any]*reason
}

// add adds a reason that applies to an arm; arm is "" if it applies to no single arm.
func (all *mergedReasons) add(text string, c *result.Cause, arm string) {
	key := mergeKey(text, c)
	r := all.byKey[key]
	if r == nil {
		r = &reason{text: text, cause: c}
		if c != nil {
			r.have, r.needed, r.difference = figures{c.Have, c.Have}, figures{c.Needed, c.Needed}, figures{c.Difference, c.Difference}
		}
		if all.byKey == nil {
			all.byKey = map[any]*reason{}
		}
		all.byKey[key] = r
		all.list = append(all.list, r)
	}
	if c != nil {
		r.have.include(c.Have)
		r.needed.include(c.Needed)
		r.difference.include(c.Difference)
	}
	if arm != "" {
		r.arms.add(arm)
	}
}

// mergeKey is the same for reasons that differ only in an arm or in figures that have a range.
func mergeKey(text string, c *result.Cause) any {
	if c == nil {
		return text
	}
	switch {
	case c.Kind == result.CauseInterval:
		return struct {
			metric                  string
			closes, differs, groups bool
			margin                  float64
		}{text, c.Needed > 0, c.Difference > 0, c.Groups, c.Margin}
	case c.Kind == result.CauseCalls && c.Arm == "":
		return c.Kind
	case c.Kind == result.CauseCalls, c.Kind == result.CauseFailedTrials, c.Kind == result.CauseLostCalls:
		key := *c
		key.Arm = ""
		return key
	}
	return text
}

// item is the reason in a list of verdicts with this outcome. Where more rounds help, it names the arms.
func (r reason) item(outcome string) string {
	if r.cause != nil && r.cause.Kind == result.CauseInterval {
		return "Not decided yet " + r.text + " for " + and(r.arms.list) + ": " + r.sentence()
	}
	return outcome + ": " + r.sentence()
}

// sentence is the reason with the ranges of its figures.
func (r reason) sentence() string {
	switch {
	case r.cause == nil:
	case r.cause.Kind == result.CauseInterval:
		text := "the interval contains 0 %"
		if r.difference.low > 0 {
			text = fmt.Sprintf("the difference is %s %%, and the margin %.3g %%",
				fromTo(100*r.difference.low, 100*r.difference.high, ThreeDigits), 100*r.cause.Margin)
		}
		units := "rounds"
		if r.cause.Groups {
			units = "groups of cycles"
		}
		if r.needed.low == 0 {
			return fmt.Sprintf("%s. Over 1,000 %s would be needed.", text, units)
		}
		return fmt.Sprintf("%s. At this noise, %s %s in total would decide.", text, fromTo(r.needed.low, r.needed.high, number), units)
	case r.cause.Kind == result.CauseCalls && r.cause.Arm == "":
		return fmt.Sprintf("%s calls per backend in 1 s are too few to tell balance from chance; %s are enough",
			fromTo(r.have.low, r.have.high, number), fromTo(r.needed.low, r.needed.high, number))
	case len(r.arms.list) > 1 && r.cause.Arm != "":
		return r.text + ". The same holds for " + and(r.arms.list[1:])
	}
	return r.text
}

// reasons returns the reasons of verdicts with this outcome, undecided or none, without repetitions: as items of a list.
func reasons(outcome string, open []result.Verdict) (texts []string) {
	var all mergedReasons
	for _, v := range open {
		switch {
		case v.Cause != nil && v.Cause.Kind == result.CauseInterval:
			all.add(inMetric(v.Metric), v.Cause, clean(v.A))
		case v.Cause != nil:
			all.add(clean(v.Reason), v.Cause, clean(v.Cause.Arm))
		case v.Reason != "":
			all.add(clean(v.Reason), nil, "")
		default:
			all.add("the interval leaves both answers open", nil, "")
		}
	}
	for _, r := range all.list {
		texts = append(texts, r.item(outcome))
	}
	return texts
}

// whyOpen says why verdicts are undecided, and why there is no verdict.
func whyOpen(p *page, open []result.Verdict) {
	var undecided, unfit []result.Verdict
	for _, v := range open {
		if v.Unfit {
			unfit = append(unfit, v)
		} else {
			undecided = append(undecided, v)
		}
	}
	for _, reason := range append(reasons("undecided", undecided), reasons(noVerdict, unfit)...) {
		p.item(reason)
	}
}
