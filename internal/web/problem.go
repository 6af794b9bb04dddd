package web

import (
	"errors"
	"net/http"

	"rpclab/internal/result"
)

// problem is the error of a request, in the form of RFC 9457.
type problem struct {
	status int
	detail string // the error and what to do
}

func (p problem) Error() string { return p.detail }

// problemOf maps an error to an HTTP status.
func problemOf(err error) problem {
	var p problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, result.ErrUnknownRun):
		return problem{http.StatusNotFound, err.Error()}
	case errors.Is(err, result.ErrNotFailed):
		return problem{http.StatusConflict, err.Error()}
	case errors.Is(err, result.ErrSchema), errors.Is(err, result.ErrNewer), errors.Is(err, result.ErrUnreadable):
		return problem{http.StatusUnprocessableEntity, err.Error()}
	}
	return problem{http.StatusInternalServerError, err.Error()}
}
