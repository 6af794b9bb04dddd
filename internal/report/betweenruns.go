package report

import (
	"cmp"
	"fmt"

	"rpclab/internal/result"
)

// DisturbsComparison says what else may cause a difference between two runs.
func DisturbsComparison(warnings []string, differences []result.Difference) (said []string) {
	for _, warning := range warnings {
		said = append(said, asSentence(warning))
	}
	what := map[string]string{"machine": "Another machine", "version": "Another version", "run": "Another run"}
	for _, d := range differences {
		if name, matters := what[d.Kind]; matters {
			said = append(said, name+": "+differs(d))
		}
	}
	return said
}

// OtherSettings says which settings of arms differ between two runs, as [DisturbsComparison] says the rest.
func OtherSettings(differences []result.Difference) (said []string) {
	for _, text := range settingsByArm(differences) {
		said = append(said, "Another setting: "+text)
	}
	return said
}

// settings lists the settings that differ.
func settings(p *page, differences []result.Difference) {
	said := settingsByArm(differences)
	if len(said) == 0 {
		return
	}
	p.heading("Settings that differ")
	for _, text := range said {
		p.item(text)
	}
}

// settingsByArm returns the settings that differ, each once with its arms.
func settingsByArm(differences []result.Difference) (said []string) {
	arms := map[string][]string{}
	for _, d := range differences {
		if d.Kind != "setting" {
			continue
		}
		text := differs(d)
		if arms[text] == nil {
			said = append(said, text)
		}
		arms[text] = append(arms[text], clean(d.Arm)+at(d.Cell))
	}
	for i, text := range said {
		said[i] += " (" + and(arms[text]) + ")"
	}
	return said
}

func differs(d result.Difference) string {
	missing := "not known"
	if d.Kind == "setting" {
		missing = "not set"
	}
	return clean(fmt.Sprintf("%s: %s in A, %s in B", d.What, cmp.Or(d.A, missing), cmp.Or(d.B, missing)))
}
