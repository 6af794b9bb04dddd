package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rpclab/experiments"
	"rpclab/internal/result"
)

// finding is one question, how it is measured, and what its page says besides the numbers.
type finding struct {
	Name       string   `yaml:"name"`       // of its page
	Experiment string   `yaml:"experiment"` // built-in, or a file; empty: as the name
	Question   string   `yaml:"question"`   // of a part of the experiment; empty: that of the experiment
	Flags      string   `yaml:"flags"`      // of rpclab run
	Takes      duration `yaml:"takes"`      // about
	Fails      []string `yaml:"fails"`      // the arms whose callers are meant to exit
	// Published says what the published number measured, and Changes what changes with languages and limits.
	Published string `yaml:"published"`
	Changes   string `yaml:"changes"`
	// Answer is that of the README. {{ratio "ARM"}} is a ratio of the first headline metric besides balance,
	// {{less "ARM"}} its difference to 1, {{p50 "ARM"}} a median, {{lost "ARM"}} the share of calls that failed or were
	// dropped, {{remains "ARM"}} what remains of a published gap, and {{shown "HEADING" "ARM" "COLUMN"}} what a table of
	// the report has. "ARM,ARM" is the range of several arms. Empty: the first clause of the report's answer.
	Answer string `yaml:"answer"`
	// Opening begins the page: the answer in whole sentences, in Markdown, with the same figures. Empty: the answer.
	Opening string `yaml:"opening"`
	// Cost says that the question is also about CPU time and memory, so the page has all of both.
	Cost bool `yaml:"cost"`
	// Quick says what a quick run does not decide, or which command does; empty: it decides what the experiment asks.
	Quick string `yaml:"quick"`
	// Doubt are reasons not to believe the finding.
	Doubt []string `yaml:"doubt"`
}

type list []finding

// seed orders the arms of every run, so that a run can be repeated.
const seed = "7"

func readList(file string) (list, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all list
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, f := range all {
		all[i].Experiment = cmp.Or(f.Experiment, f.Name)
		if f.Name == "" || f.Takes.Duration <= 0 || f.Flags == "" {
			return nil, fmt.Errorf("%s: finding %d (%s) needs a name, flags and takes", file, i+1, f.Name)
		}
	}
	return all, nil
}

// only are the findings of these names, separated by commas; all without names.
func (l list) only(names string) (list, error) {
	if names == "" {
		return slices.Clone(l), nil
	}
	var chosen list
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(l, func(f finding) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only %s: the list has no finding %q", names, name)
		}
		chosen = append(chosen, l[i])
	}
	return chosen, nil
}

// limit makes the run end within a time, in place of the number of rounds or the time of the list.
func (f *finding) limit(time time.Duration) {
	if time == 0 {
		return
	}
	var kept []string
	flags := strings.Fields(f.Flags)
	for i := 0; i < len(flags); i++ {
		if flags[i] == "--rounds" || flags[i] == "--for" {
			i++
			continue
		}
		kept = append(kept, flags[i])
	}
	f.Flags, f.Takes.Duration = strings.Join(append(kept, "--for", time.String()), " "), time
}

// command are the arguments of rpclab.
func (f finding) command() []string {
	return slices.Concat([]string{"run", f.Experiment}, strings.Fields(f.Flags), []string{"--seed", seed})
}

// definition is the YAML of the experiment.
func (f finding) definition() ([]byte, error) {
	if strings.Contains(f.Experiment, "/") || filepath.Ext(f.Experiment) == ".yaml" {
		return os.ReadFile(f.Experiment)
	}
	_, text, err := experiments.Open(f.Experiment)
	return text, err
}

// reword gives the arms and confounds of a document the words that the experiment has now. Words are corrected without
// measuring again; figures are those of the document.
func (f finding) reword(d *result.Document) error {
	text, err := f.definition()
	if err != nil {
		return err
	}
	var now struct {
		Arms      map[string]struct{ Describe string }
		Confounds []result.Confound
	}
	if err := yaml.Unmarshal(text, &now); err != nil {
		return fmt.Errorf("%s: %w", f.Experiment, err)
	}
	for i, a := range d.Arms {
		d.Arms[i].Describe = cmp.Or(now.Arms[a.Name].Describe, a.Describe)
	}
	for i, old := range d.Confounds {
		for _, c := range now.Confounds {
			if c.Published == old.Published && c.Controlled == old.Controlled {
				d.Confounds[i].What = c.What
			}
		}
	}
	return nil
}

// duration is a time such as 20m.
type duration struct{ time.Duration }

// UnmarshalText parses a time.
func (d *duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	return err
}
