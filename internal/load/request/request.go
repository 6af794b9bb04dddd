// Package request marks errors whose cause is what was asked for, not who was asked.
package request

import (
	"errors"
	"fmt"
)

// ErrWrong: what was asked for is wrong, and nothing was called.
var ErrWrong = errors.New("wrong request")

// wrong is an error that matches [ErrWrong] and does not say so in its text.
type wrong struct{ error }

func (w wrong) Is(target error) bool { return target == ErrWrong }
func (w wrong) Unwrap() error        { return w.error }

// Wrong marks an error; nil stays nil.
func Wrong(err error) error {
	if err == nil {
		return nil
	}
	return wrong{err}
}

// Wrongf makes a marked error.
func Wrongf(format string, args ...any) error { return wrong{fmt.Errorf(format, args...)} }
