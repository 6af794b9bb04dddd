package experiment

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are the command-line options that change an experiment.
type Options struct {
	Set    []string // path=value, value in YAML
	Arms   []string // names; none: all
	Rounds int      // 0: the number in the document
	// UntilDecided adds rounds until every headline verdict is decided, up to MaxRounds; 0: twice the
	// number of rounds, or with For as many as fit.
	UntilDecided bool
	MaxRounds    int
	// For is the time limit of a run until decided; 0: none.
	For   time.Duration
	Seed  uint64
	Quick bool
	// Pilot makes the loads of a --quick run still shorter: just enough to show the noise of the picked arms.
	Pilot bool
	// Service is what all arms call in place of rpclab's own servers; nil: as the document says. Call is
	// the name of the call, Mix the shares of several, and Flow several in their order; all empty: the first
	// of the service.
	Service *ServiceDocument
	Call    string
	Mix     map[string]string
	Flow    []string
	// AllowDisruption permits the events kill, roll and scale on Services of Kubernetes that run already.
	AllowDisruption bool
	// On is the cluster of the run, local or kubernetes; empty: local. A service can run in another way on each.
	On string
	// Scale multiplies the load of the published study, which the scale block of the document
	// defines; 0: the load in the document.
	Scale float64
}

// FixRounds reports whether the options set the number of rounds.
func (o Options) FixRounds() bool {
	return o.Rounds > 0 || slices.ContainsFunc(o.Set, func(setting string) bool { return strings.HasPrefix(strings.TrimSpace(setting), "rounds=") })
}

// CheckCalls returns an error if the options choose the calls of the service in more than one way.
func (o Options) CheckCalls() error {
	switch {
	case o.Call != "" && len(o.Mix) > 0:
		return errors.New("--call makes one call and --mix several: use one of them")
	case len(o.Flow) > 0 && (o.Call != "" || len(o.Mix) > 0):
		return errors.New("--flow makes its calls in their order, without --call and --mix: use one of them")
	}
	return nil
}

// Command is the command line, for a POSIX shell, that runs the experiment (a name or a file)
// with these options. It leaves out the secrets in values of --set, as results do.
func (o Options) Command(experiment string) string {
	words := []string{"rpclab", "run", experiment}
	if o.Quick {
		words = append(words, "--quick")
	}
	if o.Service != nil {
		words = append(words, "--service", o.Service.File)
	}
	if o.Call != "" {
		words = append(words, "--call", o.Call)
	}
	if len(o.Mix) > 0 {
		words = append(words, "--mix", Mix(o.Mix).String())
	}
	if len(o.Flow) > 0 {
		words = append(words, "--flow", strings.Join(o.Flow, ","))
	}
	if o.AllowDisruption {
		words = append(words, "--allow-disruption")
	}
	if len(o.Arms) > 0 {
		words = append(words, "--arms", strings.Join(o.Arms, ","))
	}
	for _, setting := range settingsWithoutSecrets(o.Set) {
		words = append(words, "--set", setting)
	}
	if o.Scale > 0 {
		words = append(words, "--scale", strconv.FormatFloat(o.Scale, 'g', -1, 64))
	}
	if o.Rounds > 0 {
		words = append(words, "--rounds", strconv.Itoa(o.Rounds))
	}
	if o.UntilDecided && o.For == 0 { // --for is until decided, too
		words = append(words, "--until", "decided")
	}
	if o.MaxRounds > 0 {
		words = append(words, "--max-rounds", strconv.Itoa(o.MaxRounds))
	}
	if o.For > 0 {
		words = append(words, "--for", formatDuration(o.For))
	}
	return CommandLine(append(words, "--seed", strconv.FormatUint(o.Seed, 10))...)
}

// CommandLine joins words to a command line for a POSIX shell.
func CommandLine(words ...string) string {
	line := make([]string, len(words))
	for i, word := range words {
		line[i] = quoted(word)
	}
	return strings.Join(line, " ")
}

// quoted quotes a word for the shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,=:@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ServiceDocument is the text of a service file.
type ServiceDocument struct {
	File string // its name in messages; relative paths in it start at its directory
	Text []byte
	On   string // the cluster of the run, as in [Options]
}
