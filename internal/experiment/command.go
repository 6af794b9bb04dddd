package experiment

import (
	"strconv"
	"strings"
)

// Command is the command line that runs the experiment, a name or a file, with these
// options, for a POSIX shell.
func (o Options) Command(experiment string) string {
	words := []string{"rpclab", "run", quoted(experiment)}
	if o.Quick {
		words = append(words, "--quick")
	}
	if len(o.Arms) > 0 {
		words = append(words, "--arms", quoted(strings.Join(o.Arms, ",")))
	}
	for _, setting := range o.Set {
		words = append(words, "--set", quoted(setting))
	}
	if o.Rounds > 0 {
		words = append(words, "--rounds", strconv.Itoa(o.Rounds))
	}
	if o.UntilDecided {
		words = append(words, "--until", "decided")
	}
	if o.MaxRounds > 0 {
		words = append(words, "--max-rounds", strconv.Itoa(o.MaxRounds))
	}
	return strings.Join(append(words, "--seed", strconv.FormatUint(o.Seed, 10)), " ")
}

// quoted is a word as the shell has to read it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,=:@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
