package main

import (
	"errors"
	"fmt"
	"io"

	"rpclab/internal/load/assert"
	"rpclab/internal/result"
)

// errGate ends a command whose assertions do not hold; which, was printed already.
var errGate = errors.New("an assertion does not hold")

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

// hold says which assertions do not hold, in which arm of several, and ends the
// command if any does not.
func hold(out io.Writer, assertions []assert.Assertion, arms []result.Arm) error {
	failed := 0
	for _, arm := range arms {
		where := ""
		if len(arms) > 1 {
			where = arm.Name + " "
		}
		if len(arm.Cell) > 0 {
			where += "at " + arm.Cell.String() + " "
		}
		for _, a := range assertions {
			for _, why := range a.Check(arm.Measures) {
				failed++
				fmt.Fprintf(out, "rpclab: %s--assert %s\n", where, why)
			}
		}
	}
	if failed > 0 {
		return errGate
	}
	return nil
}
