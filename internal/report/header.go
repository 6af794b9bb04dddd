package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rpclab/internal/result"
)

// head says where and when the run took place, and how many trials it has.
func head(p *page, d result.Document) {
	if d.Partial {
		p.warn(partial(d))
	}
	var settings []string
	if d.Quick {
		settings = append(settings, "Scaled down by --quick. For reliable numbers, run it without --quick.")
	}
	if len(d.Changed) > 0 {
		settings = append(settings, "Changed for this run: "+clean(strings.Join(d.Changed, ", "))+".")
	}
	if len(settings) > 0 {
		p.say(strings.Join(settings, " "))
	}
	if d.Machine.Kubernetes == "" {
		p.say(clean(d.Cluster) + " cluster, " + Machine(d.Machine))
	} else {
		p.say(Machine(d.Machine))
	}
	for _, w := range d.MachineWarnings {
		if ofWholeRun(w) {
			p.alarm(asSentence(w.Text))
		}
	}
	p.say(strings.Join(filled(progress(d), fmt.Sprintf("seed %d", d.Seed), lasted(d), moment(d.Started)), ", "))
	limits(p, d)
	for _, cost := range d.FaultProxies {
		p.say(faultProxyInWords(cost))
	}
	callers(p, d)
}

// ofWholeRun reports whether a warning belongs in the head of the report.
func ofWholeRun(w result.MachineWarning) bool { return w.Arm == "" }

func asSentence(warning string) string { return capital(clean(warning)) + "." }

// nodes describes the nodes of a Kubernetes cluster, equal nodes together, without the machine that
// rpclab itself ran on.
func nodes(m result.Machine) []string {
	said := []string{"kubernetes " + clean(m.Kubernetes)}
	if len(m.Nodes) == 0 {
		return said
	}
	return append(said, plural(len(m.Nodes), "node")+" ("+clean(strings.Join(m.NodeKinds(), "; "))+")")
}

// Machine describes the machine or the cluster of a run, with the versions of tools.
func Machine(m result.Machine) string {
	var said []string
	if m.Kubernetes != "" {
		said = nodes(m)
	} else {
		said = machine(m)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tools)) {
		said = append(said, clean(name+" "+m.Tools[name]))
	}
	return strings.Join(said, ", ")
}

func machine(m result.Machine) []string {
	memory := ""
	if m.Memory > 0 {
		memory = fmt.Sprintf("%.0f GB", float64(m.Memory)/1e9)
	}
	cpus := plural(m.CPUs, "CPU")
	if m.Model != "" {
		cpus += " (" + clean(m.Model) + ")"
	}
	system := strings.Trim(clean(m.OS)+"/"+clean(m.Arch), "/")
	return filled(system, cpus, memory, clean(m.Go))
}

// partial describes an ended run as well as one in progress.
func partial(d result.Document) string {
	if endsByTime(d) {
		return fmt.Sprintf("Partial: the run ended before its time limit, after %s.", plural(measuredTrials(d), "trial"))
	}
	of, are := plural(d.TrialCount, "trial"), "are"
	if d.TrialCount == 1 {
		are = "is"
	}
	return fmt.Sprintf("Partial: %s of %s %s measured.", number(float64(measuredTrials(d))), of, are)
}

func measuredTrials(d result.Document) (n int) {
	for _, arm := range d.Arms {
		for _, t := range arm.Trials {
			if t.Failed == "" {
				n++
			}
		}
	}
	return n
}

// inTurns says that the arms of a round were not measured one trial after another.
func inTurns(d result.Document) bool { return d.Design == "interleaved" || d.Design == "side-by-side" }

func progress(d result.Document) string {
	done := measuredTrials(d)
	text := plural(d.Rounds, strings.TrimSpace(clean(d.Design)+" round"))
	limit := about(time.Duration(d.TimeLimitMS) * time.Millisecond)
	switch n := len(d.Looks); {
	case d.Ended == result.EndedTime:
		text += fmt.Sprintf(" (until the time limit of %s)", limit)
	case n == 0:
	case d.Partial && d.TimeLimitMS > 0:
		return fmt.Sprintf("until decided, in %s at most, %s", limit, plural(done, "trial"))
	case d.Partial:
		text = fmt.Sprintf("until decided, in %s at most", text)
	case d.TimeLimitMS > 0:
		text += fmt.Sprintf(" (until decided, in %s at most)", limit)
	default:
		text += fmt.Sprintf(" (until decided, of %d at most)", d.Looks[n-1])
	}
	switch {
	case done < d.TrialCount:
		text += fmt.Sprintf(", %s of %s", number(float64(done)), plural(d.TrialCount, "trial"))
	case done > 0:
		text += ", " + plural(done, "trial")
	}
	return text
}

func lasted(d result.Document) string {
	if d.Finished == nil {
		return ""
	}
	return span(d.Finished.Sub(d.Started))
}

// callers says how many processes shared each load, if more than one, and how closely together
// they started.
func callers(p *page, d result.Document) {
	fewest, most, skew := 0, 0, 0.0
	for _, arm := range d.Arms {
		n := callerCount(arm)
		if fewest == 0 || n < fewest {
			fewest = n
		}
		most = max(most, n)
		for _, t := range arm.Trials {
			skew = max(skew, result.Skew(t.Callers))
		}
	}
	if most <= 1 {
		return
	}
	many := plural(most, "caller")
	if fewest < most {
		many = fmt.Sprintf("%d to %s", fewest, many)
	}
	p.say(fmt.Sprintf("%s share each load; they started within %s ms of each other.", many, ms(skew)))
}

// limits says what enforced the limits of the servers, if they had any.
func limits(p *page, d result.Document) {
	var enforced []string
	for _, arm := range d.Arms {
		for _, t := range arm.Trials {
			if t.Limits != "" && !slices.Contains(enforced, t.Limits) {
				enforced = append(enforced, t.Limits)
			}
		}
	}
	for _, by := range enforced {
		if by == "pinned" {
			p.say("The servers were limited by pinning them to processors and by their runtimes, because rpclab could not create control groups: a fraction of a processor, and memory outside a runtime, were not limited.")
		} else {
			p.say("The servers were limited by control groups (" + clean(by) + ").")
		}
	}
}
