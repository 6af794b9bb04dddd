package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/suggest"
)

// Error is one error in an experiment. File is the name of the document, or the option that set
// the value (`--set load.burst=0`), where Line is 0.
type Error struct {
	File         string
	Line, Column int // from 1; Column 0: the whole line
	Message      string

	cause error // nil: the message says all
}

// Unwrap returns the cause.
func (e Error) Unwrap() error { return e.cause }

// Error reads file:line:column: message.
func (e Error) Error() string {
	switch {
	case e.Line == 0:
		return e.File + ": " + e.Message
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors are all errors in the order of the document. It is never empty when returned as an
// error.
type Errors []Error

// Error has one line per error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find each [Error].
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// InDocument returns the [Error] that err wraps, which has a position and says all; without one, err.
func InDocument(err error) error {
	var one Error
	if all := (Errors)(nil); errors.As(err, &all) || !errors.As(err, &one) {
		return err
	}
	return one
}

// position is where the document sets a value.
type position struct {
	file         string
	line, column int
}

func (p position) error(message string) Error {
	return Error{File: p.file, Line: p.line, Column: p.column, Message: message}
}

// problems collects errors. It reports an error once, although several arms and cells may check
// the same value.
type problems struct{ found Errors }

func (p *problems) add(at position, format string, args ...any) {
	p.found = append(p.found, at.error(fmt.Sprintf(format, args...)))
}

// err returns the errors, sorted by position and without duplicates.
func (p *problems) err() error {
	if len(p.found) == 0 {
		return nil
	}
	slices.SortStableFunc(p.found, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Message, b.Message))
	})
	p.found = slices.Compact(p.found)
	return p.found
}

func joinOr(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}

func didYouMean(word string, names []string) string {
	if near := suggest.Similar(word, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
