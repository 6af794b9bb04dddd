// Package request marks errors caused by the user's request, not by the target.
package request

import (
	"errors"
	"fmt"
)

// ErrInvalid means that the request is invalid and no call was made.
var ErrInvalid = errors.New("invalid request")

// invalid matches [ErrInvalid] without naming it in its text.
type invalid struct{ error }

func (i invalid) Is(target error) bool { return target == ErrInvalid }
func (i invalid) Unwrap() error        { return i.error }

// Invalid marks an error as caused by the request. It returns nil for nil.
func Invalid(err error) error {
	if err == nil {
		return nil
	}
	return invalid{err}
}

// Invalidf returns a marked error.
func Invalidf(format string, args ...any) error { return invalid{fmt.Errorf(format, args...)} }
