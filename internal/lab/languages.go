package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/caller/foreign"
	"rpclab/internal/experiment"
	"rpclab/internal/language"
)

// ErrNotRun is what the error wraps of a run of which some arms could not run, while the
// others did.
var ErrNotRun = errors.New("not run")

// programs are those of languages other than ours, by the language's name.
type programs struct {
	commands map[string][]string // what runs them
	reasons  map[string]string   // why there are none
}

// buildLanguages builds what the plan needs. Arms whose language has no programs do not
// run; the others do.
func (l *lab) buildLanguages(ctx context.Context) error {
	l.programs = programs{map[string][]string{}, map[string]string{}}
	for _, t := range l.plan.Trials {
		for _, name := range languagesOf(t.Config) {
			if l.commands[name] != nil || l.reasons[name] != "" {
				continue
			}
			if err := l.buildLanguage(ctx, t, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// buildLanguage builds one, or notes why it cannot be.
func (l *lab) buildLanguage(ctx context.Context, t experiment.Trial, name string) error {
	if l.Remote {
		l.reasons[name] = fmt.Sprintf("programs in %s run on one machine alone: leave out --on kubernetes", name)
		return nil
	}
	which, err := language.Lookup(name)
	if err != nil {
		return err
	}
	say := func(line string) { l.progress(t, nil, "building programs in "+name+": "+line) }
	command, err := which.Build(ctx, l.Self, sayer(say))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		l.reasons[name] = err.Error()
	default:
		l.commands[name] = command
	}
	return nil
}

// languagesOf are those, other than our own, that a trial's programs are written in.
func languagesOf(c experiment.Config) (names []string) {
	of := []string{c.Server.Language}
	if c.Gateway != nil {
		of = append(of, c.Gateway.Language)
	}
	library, _ := lookupCaller(c.Caller.Kind) // a name that was checked
	if f, ok := library.(foreign.Caller); ok {
		of = append(of, f.Language)
	}
	for _, name := range of {
		if name != language.Go && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// lacking says why a trial cannot run; empty: it can.
func (p programs) lacking(c experiment.Config) string {
	for _, name := range languagesOf(c) {
		if p.reasons[name] != "" {
			return p.reasons[name]
		}
	}
	return ""
}

// notRun says of the arms that did not run, if there are any, which and why, in the order
// of the document.
func (l *lab) notRun() error {
	arms, order := map[string][]string{}, []string{} // by reason
	place := map[string]int{}
	for i, a := range l.plan.Arms {
		place[a.Name] = i
	}
	for _, t := range slices.SortedStableFunc(slices.Values(l.plan.Trials), func(a, b experiment.Trial) int { return place[a.Arm] - place[b.Arm] }) {
		why := l.lacking(t.Config)
		if why == "" || slices.Contains(arms[why], t.Arm) {
			continue
		}
		if arms[why] == nil {
			order = append(order, why)
		}
		arms[why] = append(arms[why], t.Arm)
	}
	var errs []error
	for _, why := range order {
		errs = append(errs, fmt.Errorf("%s: %w: %s", strings.Join(arms[why], ", "), ErrNotRun, why))
	}
	return errors.Join(errs...)
}

// speaks is what callers of a config's servers have to speak.
func speaks(c experiment.Config) string {
	l, err := language.Lookup(c.Server.Language)
	if err != nil {
		return language.GRPC
	}
	m, _ := l.Model(c.Server.Model) // a name that was checked
	return m.Speaks()
}

// calls says whether a config's caller calls anybody: one of a function has no backends.
func calls(c experiment.Config) bool {
	return !slices.Contains(Vocabulary().Speaks[c.Caller.Kind], "nothing")
}

// sayer hears the last line of each write.
type sayer func(string)

// Write implements [io.Writer].
func (s sayer) Write(p []byte) (int, error) {
	lines := bytes.Split(bytes.TrimSpace(p), []byte("\n"))
	if last := bytes.TrimSpace(lines[len(lines)-1]); len(last) > 0 {
		s(string(last))
	}
	return len(p), nil
}
