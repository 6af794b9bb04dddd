// Package stdio exchanges messages with child processes over their standard input and output:
// requests of typed methods ([Method], [Client], [Conn]) as lines of JSON, plain lines ([Lines]),
// and the line with which a program announces its address ([Announce]). [ExitError] reports a child
// that ended unexpectedly.
package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
)

// Process is a child process.
type Process interface {
	Kill()       // ends the process and returns when it has ended
	Err() error  // how the process ended; nil: exit code 0
	Log() string // the last lines on standard error
}

// ExitError is the error of a process that ended unexpectedly.
type ExitError struct {
	Name  string // name of the process
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

// fatalLine is the line in which Go's runtime says why it ends a process. Its stacks may be longer than the log.
var fatalLine = regexp.MustCompile(`(?m)^(fatal error|panic): .*$`)

// Reason returns the cause, with the line of Go's runtime if there is one, and the last lines.
func (e *ExitError) Reason() string {
	text := e.Cause.Error()
	if fatal := fatalLine.FindString(e.Log); fatal != "" {
		text += ", " + strings.TrimSpace(fatal)
	}
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
	skip    bool // drop the current line: it is too long
}

// MaxLine is the length in bytes of the longest line that [Lines] passes to its function.
const MaxLine = 64 << 10

// NewLines returns a writer that calls onLine for each line, one call at a time.
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

// Announce writes the line with the address on which a program serves. Call it once the program
// serves. The line shows that this process, and no other program, serves on the address.
func Announce(out io.Writer, address net.Addr) error {
	_, err := fmt.Fprintf(out, "%s%s\n", announcement, address)
	return err
}

// Announced returns the address (host:port) in a line of [Announce]; ok is false for other lines.
func Announced(line string) (address string, ok bool) { return strings.CutPrefix(line, announcement) }
