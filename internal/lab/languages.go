package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
		name := t.Config.Server.Language
		if name == language.Go || l.commands[name] != nil || l.reasons[name] != "" {
			continue
		}
		if l.Remote {
			l.reasons[name] = fmt.Sprintf("servers in %s run on one machine alone: leave out --on kubernetes", name)
			continue
		}
		which, err := language.Lookup(name)
		if err != nil {
			return err
		}
		say := func(line string) { l.progress(t, nil, "building servers in "+name+": "+line) }
		command, err := which.Build(ctx, l.Self, sayer(say))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			l.reasons[name] = err.Error()
			continue
		}
		l.commands[name] = command
	}
	return nil
}

// notRun says of the arms that did not run, if there are any, which and why.
func (l *lab) notRun() error {
	arms, order := map[string][]string{}, []string{} // by language
	for _, t := range l.plan.Trials {
		name := t.Config.Server.Language
		if l.reasons[name] == "" || slices.Contains(arms[name], t.Arm) {
			continue
		}
		if arms[name] == nil {
			order = append(order, name)
		}
		arms[name] = append(arms[name], t.Arm)
	}
	var errs []error
	for _, name := range order {
		errs = append(errs, fmt.Errorf("%s: %w: %s", strings.Join(arms[name], ", "), ErrNotRun, l.reasons[name]))
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
