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

// ErrNotRun is wrapped by the error of a run in which some arms could not run and others did.
var ErrNotRun = errors.New("not run")

// programs are the servers, gateways and callers in languages other than Go, by language.
type programs struct {
	commands map[string][]string // command lines that run them
	missing  map[string]string   // why a language has none, or why there is no proxy of a name
}

// inImage are the programs of a run in a cluster: its image contains all that could be built.
func inImage(trials []trial, missing map[string]string) programs {
	built := programs{map[string][]string{}, missing}
	for _, t := range trials {
		for _, l := range t.programs {
			built.commands[l.Name] = l.InImage()
		}
	}
	return built
}

// Languages returns the languages of the plan's programs other than Go, in the order of the arms.
func (p Plan) Languages() (all []language.Language) {
	for _, t := range p.trials {
		for _, l := range t.programs {
			if !slices.ContainsFunc(all, func(known language.Language) bool { return known.Name == l.Name }) {
				all = append(all, l)
			}
		}
	}
	return all
}

// buildPrograms builds the programs that the plan needs. Arms whose programs cannot be built do not
// run; the others do.
func buildPrograms(ctx context.Context, trials []trial, self []string, p *progress) (programs, error) {
	built := programs{map[string][]string{}, map[string]string{}}
	for _, t := range trials {
		for _, l := range t.programs {
			if built.commands[l.Name] != nil || built.missing[l.Name] != "" {
				continue
			}
			show := lastLineWriter(func(line string) { p.doing(t.Trial, "building programs in "+l.Name+": "+line) })
			command, err := l.Build(ctx, self, show)
			switch {
			case ctx.Err() != nil:
				return built, ctx.Err()
			case err != nil:
				built.missing[l.Name] = err.Error()
			default:
				built.commands[l.Name] = command
			}
		}
	}
	return built, nil
}

// lastLineWriter receives the last line of each write.
type lastLineWriter func(string)

// Write implements [io.Writer].
func (w lastLineWriter) Write(p []byte) (int, error) {
	lines := bytes.Split(bytes.TrimSpace(p), []byte("\n"))
	if last := bytes.TrimSpace(lines[len(lines)-1]); len(last) > 0 {
		w(string(last))
	}
	return len(p), nil
}

// missingFor returns why a trial cannot run; empty: it can.
func (p programs) missingFor(t trial) string {
	if why := p.missing[t.route.Binary.Name]; why != "" {
		return why
	}
	for _, l := range t.programs {
		if p.missing[l.Name] != "" {
			return p.missing[l.Name]
		}
	}
	return ""
}

// notRun is an error that names the arms that could not run, and why, in the order of the
// experiment.
func (p programs) notRun(plan experiment.Plan, trials []trial) error {
	arms, order := map[string][]string{}, []string{} // by reason
	for _, arm := range plan.Arms {
		for _, t := range trials {
			why := p.missingFor(t)
			if t.Arm != arm.Name || why == "" || slices.Contains(arms[why], t.Arm) {
				continue
			}
			if arms[why] == nil {
				order = append(order, why)
			}
			arms[why] = append(arms[why], t.Arm)
		}
	}
	var errs []error
	for _, why := range order {
		errs = append(errs, fmt.Errorf("%s: %w: %s", strings.Join(arms[why], ", "), ErrNotRun, why))
	}
	return errors.Join(errs...)
}
