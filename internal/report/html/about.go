package html

import (
	"strconv"
	"strings"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// run is what a reader needs to make the run again.
type run struct {
	ID, Experiment, Started, Machine, Version, Command string
	Partial                                            bool
}

func about(d result.Document) run {
	return run{ID: report.Clean(d.ID), Experiment: report.Clean(d.Experiment), Started: d.Started.UTC().Format("2006-01-02 15:04 UTC"),
		Machine: report.Machine(d.Machine), Version: report.Clean(d.Machine.Rpclab), Command: command(d), Partial: d.Partial}
}

// command repeats the run, as far as the document tells: its arms by name, since a later
// version of the experiment may have others.
func command(d result.Document) string {
	words := []string{"rpclab", "run", quoted(d.Experiment)}
	if d.Cluster == "kubernetes" {
		words = append(words, "--on", "kubernetes")
	}
	if d.Quick {
		words = append(words, "--quick")
	}
	var arms []string
	seen := map[string]bool{}
	for _, a := range d.Arms {
		if !seen[a.Name] {
			seen[a.Name] = true
			arms = append(arms, a.Name)
		}
	}
	if len(arms) > 0 {
		words = append(words, "--arms", quoted(strings.Join(arms, ",")))
	}
	for _, setting := range d.Changed {
		words = append(words, "--set", quoted(setting))
	}
	return strings.Join(append(words, "--rounds", strconv.Itoa(d.Rounds), "--seed", strconv.FormatUint(d.Seed, 10)), " ")
}

// quoted is a word as a POSIX shell reads it.
func quoted(word string) string {
	word = report.Clean(word)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,=:@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
