// Package stdio is how rpclab talks to its child processes over their standard input and output:
// requests of typed methods ([Method], [Client], [Conn]) as lines of JSON, plain lines ([Lines]),
// the line by which a program announces its address ([Announce]), and what to report when a child
// ends unexpectedly ([ExitError]).
package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
)

// Process is a child process.
type Process interface {
	Kill()       // ends the process and returns when it has ended
	Err() error  // how it ended; nil: exit code 0
	Log() string // its last lines on standard error
}

// ExitError is the error of a process that ended although more was expected of it.
type ExitError struct {
	Name  string // of the process
	Cause error
	Log   string // last lines on standard error; empty: none
}

// Exited kills a process that does not work as expected and returns the error. cause may be nil.
func Exited(name string, p Process, cause error) *ExitError {
	p.Kill()
	if cause = errors.Join(p.Err(), cause); cause == nil {
		cause = errors.New("it exited with code 0")
	}
	return &ExitError{Name: name, Cause: cause, Log: p.Log()}
}

func (e *ExitError) Error() string { return e.Name + " ended unexpectedly: " + e.Reason() }

// Reason returns the cause and the last lines.
func (e *ExitError) Reason() string {
	text := e.Cause.Error()
	if e.Log != "" {
		text += "; its last lines:\n  " + strings.ReplaceAll(e.Log, "\n", "\n  ")
	}
	return text
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Cause }

// Lines is an [io.Writer] that passes each complete line, without its end, to a function. A line
// longer than [MaxLine] is dropped. It is safe for concurrent use.
type Lines struct {
	onLine func(line string)

	mu      sync.Mutex
	partial []byte
	skip    bool // the current line is too long
}

// MaxLine is the length of the longest line that [Lines] passes on, in bytes.
const MaxLine = 64 << 10

// NewLines returns a writer that calls onLine for each line, while holding a lock.
func NewLines(onLine func(line string)) *Lines { return &Lines{onLine: onLine} }

// Write implements [io.Writer].
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, complete := bytes.Cut(rest, []byte("\n"))
		rest = after
		if l.skip = l.skip || len(l.partial)+len(line) > MaxLine; !l.skip {
			l.partial = append(l.partial, line...)
		}
		if !complete {
			break
		}
		if !l.skip {
			l.onLine(string(l.partial))
		}
		l.partial, l.skip = nil, false
	}
	return len(p), nil
}

// announcement begins the line by which a program announces its address (servers/CONTRACT.md).
const announcement = "serving "

// Announce writes the line that says where a program listens, once it serves. The line proves
// that this process serves there, and no other program that uses the address.
func Announce(out io.Writer, address net.Addr) error {
	_, err := fmt.Fprintf(out, "%s%s\n", announcement, address)
	return err
}

// Announced returns the address (host:port) in a line of [Announce]; ok is false for other lines.
func Announced(line string) (address string, ok bool) { return strings.CutPrefix(line, announcement) }
