package main

import (
	"context"
	"errors"
)

// Exit codes, which scripts rely on.
const (
	exitDone        = 0
	exitGate        = 1   // an assertion or gate failed
	exitUsage       = 2   // the request is wrong
	exitLab         = 3   // the lab could not do it
	exitInterrupted = 130 // what was measured is kept
)

// usage marks an error as the request's own.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// errSaid ends a command whose failure was printed already.
var errSaid = errors.New("said")

func exitCode(err error) int {
	var wrong usage
	var status ended
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, errGate):
		return exitGate
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &wrong):
		return exitUsage
	}
	return exitLab
}
