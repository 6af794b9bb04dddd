package report

import (
	"cmp"
	"fmt"

	"rpclab/internal/result"
)

// elsewhere warns of what else may be behind every difference.
func elsewhere(p *page, c result.Comparison) {
	what := map[string]string{"machine": "Another machine", "version": "Another version", "run": "Another run"}
	for _, d := range c.Differences {
		if name, matters := what[d.Kind]; matters {
			p.alarm(name + ": " + differs(d))
		}
	}
}

// refused lists the arms that are not compared.
func refused(p *page, c result.Comparison) {
	if len(c.Refused) == 0 {
		return
	}
	p.heading("Not compared")
	for _, r := range c.Refused {
		p.item(clean(r.Arm) + at(r.Cell) + ": " + clean(r.Reason))
	}
}

// settings lists those that differ, each once with the arms that have it so.
func settings(p *page, c result.Comparison) {
	var said []string
	arms := map[string][]string{}
	for _, d := range c.Differences {
		if d.Kind != "setting" {
			continue
		}
		text := differs(d)
		if arms[text] == nil {
			said = append(said, text)
		}
		arms[text] = append(arms[text], clean(d.Arm)+at(d.Cell))
	}
	if len(said) == 0 {
		return
	}
	p.heading("Settings that differ")
	for _, text := range said {
		p.item(text + " (" + and(arms[text]) + ")")
	}
}

func differs(d result.Difference) string {
	missing := "not known"
	if d.Kind == "setting" {
		missing = "not set"
	}
	return clean(fmt.Sprintf("%s: %s in A, %s in B", d.What, cmp.Or(d.A, missing), cmp.Or(d.B, missing)))
}
