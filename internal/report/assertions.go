package report

import "rpclab/internal/result"

// Check is an assertion on one arm of a run.
type Check struct {
	Assertion string
	Arm       string
	Cell      result.Cell
	Failures  []string // none: the assertion holds
}

// assertions lists which assertions hold.
func assertions(p *page, d result.Document, checks []Check) {
	if len(checks) == 0 {
		return
	}
	p.heading("Assertions")
	for _, c := range checks {
		where := ""
		if len(d.Arms) > 1 {
			where = clean(c.Arm) + cellSuffix(c.Cell) + ": "
		}
		if len(c.Failures) == 0 {
			p.item(where + "`" + clean(c.Assertion) + "` holds")
		}
		for _, why := range c.Failures {
			p.alarm(where + clean(why))
		}
	}
}

// cellSuffix is ", burst = 2,000", or empty without a sweep.
func cellSuffix(c result.Cell) string {
	if name := cellName(c); name != "" {
		return ", " + name
	}
	return ""
}
