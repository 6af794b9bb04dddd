package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"rpclab/internal/lab"
	"rpclab/internal/report"
	"rpclab/internal/result"
	"rpclab/internal/result/condition"
)

// errGate ends a command that has printed the assertions or gates that failed.
var errGate = errors.New("an assertion or a gate failed")

// parseAssertions reads conditions on calls that a client of the user's may have made: it has codes of its own.
func parseAssertions(texts []string, ownClient bool) (all []condition.Condition, err error) {
	parse := condition.Parse
	if ownClient {
		parse = condition.ParseOwnCodes
	}
	for _, text := range texts {
		a, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("--assert %w", err)
		}
		all = append(all, a)
	}
	return all, nil
}

// checkArms checks every assertion on every arm. None holds for an arm of which a round gave no measurement, or was measured
// without an event.
func checkArms(assertions []condition.Condition, arms []result.Arm) (all []result.Assertion) {
	for _, arm := range arms {
		lacking := append(noMeasurement(arm.Trials), unperformed(arm.Trials)...)
		for _, a := range assertions {
			all = append(all, result.Assertion{
				Assertion: a.String(), Arm: arm.Name, Cell: arm.Cell, Failures: append(a.Check(arm.Measures), lacking...),
			})
		}
	}
	return all
}

// noMeasurement says how many rounds gave no measurement; nil: none. It leaves out rounds that did not run because
// their program is missing.
func noMeasurement(trials []result.Trial) []string {
	var failed []result.Trial
	for _, t := range trials {
		if t.Failed != "" && !strings.HasPrefix(t.Failed, lab.ErrNotRun.Error()+": ") {
			failed = append(failed, t)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d rounds gave no measurement", result.RoundsOf(failed), result.RoundsOf(trials))}
}

// unperformed names the first event that does not count; nil: none.
func unperformed(trials []result.Trial) []string {
	for _, t := range trials {
		if event, why := t.Lacks(); event != "" {
			return []string{fmt.Sprintf("%s in round %d: %s", event, t.Round, why)}
		}
	}
	return nil
}

// reportFailures prints the assertions that failed, with the arm where there are several, and
// returns errGate if any failed.
func reportFailures(out io.Writer, checks []result.Assertion, arms int) error {
	failed := 0
	for _, c := range checks {
		name := c.Arm
		if arms == 1 {
			name = ""
		}
		for _, why := range c.Failures {
			failed++
			fmt.Fprintf(out, "rpclab: %s--assert %s\n", armPrefix(name, c.Cell), report.Clean(why))
		}
	}
	if failed > 0 {
		return errGate
	}
	return nil
}

// armPrefix begins a line about an arm in a cell.
func armPrefix(arm string, cell result.Cell) string {
	where := ""
	if arm != "" {
		where = report.Clean(arm) + " "
	}
	if len(cell) > 0 {
		where += "at " + report.Clean(cell.String()) + " "
	}
	return where
}
