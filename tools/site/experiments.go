package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rpclab/experiments"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/tool"
)

// writeExperiments writes a page for each built-in experiment, and one that lists them. It returns their paths.
func writeExperiments(root, to string) ([]string, error) {
	var list strings.Builder
	list.WriteString("# Experiments\n\nThe built-in experiments. `rpclab run NAME --quick` runs one, scaled down. Most end\nwithin a minute, those with servers in other languages, which it builds once, within two.\n\n" +
		"| experiment | question | takes at least, `--quick` | in full |\n|---|---|---|---|\n")
	places := []string{"experiments/index.md"}
	for _, name := range experiments.Names() {
		e, err := readExperiment(name)
		if err != nil {
			return nil, err
		}
		place := "experiments/" + name + ".md"
		if err := write(to, place, []byte(e.page(root))); err != nil {
			return nil, err
		}
		places = append(places, place)
		fmt.Fprintf(&list, "| [%s](%s.md) | %s | %s | %s |\n", name, name, e.full.Question, e.quick.least(), e.full.least())
	}
	list.WriteString("\nNot fixed: the experiment makes a number of calls, and how long they take depends on the machine. `rpclab run NAME --plan`\n" +
		"says how long earlier runs took on your machine. [The format](../reference/experiment.md) describes experiments of your own.\n")
	return places, write(to, places[0], []byte(list.String()))
}

// builtin is an experiment as it runs by default, and scaled down.
type builtin struct {
	text        string
	full, quick scaled
}

type scaled struct{ lab.Plan }

func readExperiment(name string) (e builtin, err error) {
	file, doc, err := experiments.Open(name)
	if err != nil {
		return e, err
	}
	e.text = string(doc)
	for options, plan := range map[*experiment.Options]*scaled{{UntilDecided: true}: &e.full, {Quick: true}: &e.quick} {
		expanded, err := experiment.Expand(file, doc, *options, lab.Vocabulary())
		if err != nil {
			return e, err
		}
		if plan.Plan, err = lab.Resolve(expanded); err != nil {
			return e, err
		}
	}
	return e, nil
}

// page is the Markdown of an experiment's page.
func (e builtin) page(root string) string {
	var b strings.Builder
	p := e.full.Plan
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", p.Name, p.Question)
	if source, section, ok := strings.Cut(strings.TrimSuffix(p.Source, ")"), " (docs/studies.md#"); ok {
		fmt.Fprintf(&b, "It repeats %s ([published figures](../studies.md#%s)). ", source, section)
	}
	if _, err := os.Stat(filepath.Join(root, "docs/findings", p.Name+".md")); err == nil {
		fmt.Fprintf(&b, "[The finding](../findings/%s.md) has the answer of rpclab's own runs.", p.Name)
	}
	fmt.Fprintf(&b, "\n\n```sh\nrpclab run %s --quick\nrpclab run %s\n```\n\n", p.Name, p.Name)
	fmt.Fprintf(&b, "The [headline metrics](../glossary.md#verdict) are %s, the [design](../glossary.md#design) is %s.\n\n", strings.Join(p.Headline, " and "), p.Design)
	e.writeRuns(&b)
	fmt.Fprintf(&b, "\n## Arms\n\n| arm | route | calls |\n|---|---|---|\n")
	for _, arm := range p.Arms {
		note := ""
		if arm.Name == p.Baseline {
			note = " (baseline)"
		}
		fmt.Fprintf(&b, "| `%s`%s | %s | %s |\n", arm.Name, note, strings.Join(e.routes(arm.Name), ", "), arm.Describe)
	}
	if events := p.Trials[0].Events; len(events) > 0 {
		b.WriteString("\n## Events\n\nrpclab applies them while calls are made:\n\n")
		for _, event := range events {
			fmt.Fprintf(&b, "- after %s: %s\n", event.At, event)
		}
	}
	if len(p.Confounds) > 0 {
		b.WriteString("\n## Confounds\n\n| published arm | controlled arm | other difference |\n|---|---|---|\n")
		for _, c := range p.Confounds {
			fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", c.Published, c.Controlled, strings.TrimSpace(c.What))
		}
	}
	fmt.Fprintf(&b, "\n## File\n\n```yaml\n%s\n```\n", strings.TrimSpace(e.text))
	return b.String()
}

// writeRuns writes what a run makes and needs.
func (e builtin) writeRuns(b *strings.Builder) {
	b.WriteString("| | `--quick` | in full |\n|---|---|---|\n")
	row := func(what string, of func(scaled) string) {
		fmt.Fprintf(b, "| %s | %s | %s |\n", what, of(e.quick), of(e.full))
	}
	row("load of a trial", scaled.loads)
	row("rounds", func(s scaled) string {
		if len(s.Looks) > 0 {
			return fmt.Sprintf("%d, at most %d", s.Looks[0], s.Rounds)
		}
		return fmt.Sprint(s.Rounds)
	})
	row("trials", func(s scaled) string { return decimal(float64(len(s.Trials) / s.Rounds * s.rounds())) })
	row("takes at least", scaled.least)
	row("processes at a time", func(s scaled) string { return fmt.Sprint(s.needs().Processes) })
	row("open files of a process", func(s scaled) string { return decimal(float64(s.needs().Files)) })
	row("memory, estimated", func(s scaled) string { return fmt.Sprintf("%.1f GB", float64(s.needs().MemoryEstimate)/1e9) })
	row("proxies", func(s scaled) string { return cmp.Or(strings.Join(tool.Names(s.Tools()), ", "), "none") })
	row("languages to build", func(s scaled) string {
		var names []string
		for _, l := range s.Languages() {
			names = append(names, l.Name)
		}
		return cmp.Or(strings.Join(names, ", "), "none")
	})
	row("on Kubernetes", func(s scaled) string {
		if err := s.CheckCluster("kubernetes"); err != nil {
			return "no"
		}
		return "yes"
	})
	b.WriteString("\n`rpclab doctor` says which proxies and languages this machine lacks. `rpclab run " + e.full.Name + " --plan` shows the\nplan of a run on it.\n")
}

// routes are those of an arm in all cells.
func (e builtin) routes(arm string) (all []string) {
	for _, t := range e.full.Trials {
		if t.Arm == arm && t.Config.Route != "" && !slices.Contains(all, t.Config.Route) {
			all = append(all, t.Config.Route)
		}
	}
	return all
}

// rounds is the number of rounds up to the first look.
func (s scaled) rounds() int {
	if len(s.Looks) > 0 {
		return s.Looks[0]
	}
	return s.Rounds
}

// loads are the different loads of trials.
func (s scaled) loads() string {
	var all []string
	for _, t := range s.Trials {
		if load := t.Config.Load.String(); !slices.Contains(all, load) {
			all = append(all, load)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return strings.Join(all, "<br>")
}

// least is the time during which calls are due.
func (s scaled) least() string {
	switch least := s.LoadTime(s.rounds()); {
	case least == 0:
		return "not fixed"
	case least < 2*time.Minute:
		return fmt.Sprintf("%.0f\u00a0s", least.Seconds())
	case least < 2*time.Hour:
		return fmt.Sprintf("%.0f\u00a0min", least.Minutes())
	default:
		return fmt.Sprintf("%.0f\u00a0h", least.Hours())
	}
}

func (s scaled) needs() result.Plan { return s.Needs(result.Plan{}) }
