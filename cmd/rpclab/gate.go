package main

import (
	"errors"
	"fmt"
	"io"

	"rpclab/internal/report"
	"rpclab/internal/result"
	"rpclab/internal/result/assert"
)

// errGate ends a command whose assertions or gates do not hold; which, was printed already.
var errGate = errors.New("an assertion or a gate does not hold")

func parseAssertions(texts []string) (all []assert.Assertion, err error) {
	for _, text := range texts {
		a, err := assert.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("--assert %w", err)
		}
		all = append(all, a)
	}
	return all, nil
}

// check holds every assertion against every arm.
func check(assertions []assert.Assertion, arms []result.Arm) (all []report.Check) {
	for _, arm := range arms {
		for _, a := range assertions {
			all = append(all, report.Check{
				Assertion: a.String(), Arm: arm.Name, Cell: arm.Cell, Failures: a.Check(arm.Measures),
			})
		}
	}
	return all
}

// hold says which assertions do not hold, where, and ends the command if any does not.
// The arm is named where there are several.
func hold(out io.Writer, checks []report.Check, arms int) error {
	failed := 0
	for _, c := range checks {
		name := c.Arm
		if arms == 1 {
			name = ""
		}
		for _, why := range c.Failures {
			failed++
			fmt.Fprintf(out, "rpclab: %s--assert %s\n", armPlace(name, c.Cell), why)
		}
	}
	if failed > 0 {
		return errGate
	}
	return nil
}

// armPlace is where something was found, to begin a line with.
func armPlace(arm string, cell result.Cell) string {
	where := ""
	if arm != "" {
		where = arm + " "
	}
	if len(cell) > 0 {
		where += "at " + cell.String() + " "
	}
	return where
}
