package own

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/wire/h2"
)

// jobLine is the first line that the program reads. After it, each line is the number of a call that is due.
type jobLine struct {
	Target        string        `json:"target"`
	Call          string        `json:"call,omitempty"`
	Timeout       time.Duration `json:"timeout_ns"`
	ServiceConfig string        `json:"service_config,omitempty"`
}

// Lines that the program writes.
const (
	readyLine   = `{"ready": true}`
	outcomeLine = `{"call": 7, "sent": 1700000000000000000, "done": 1700000000001000000, "code": "OK"}`
)

// maxLine is the longest line that is read.
const maxLine = 64 << 10

func readLine(lines *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := lines.ReadSlice('\n')
		whole = append(whole, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(whole) < maxLine:
			continue
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, unexpectedLine(whole, "lines of at most 64 KiB")
		case err != nil:
			return nil, err
		}
		if line := bytes.TrimSpace(whole); len(line) > 0 {
			return line, nil
		}
		whole = nil
	}
}

// unexpectedLine returns the error of a line that the protocol does not allow.
func unexpectedLine(line []byte, want string) error {
	const shown = 200
	more := ""
	if len(line) > shown {
		line, more = line[:shown], "…"
	}
	return fmt.Errorf("it wrote %q%s to standard output, where rpclab reads %s: write logs to standard error", line, more, want)
}

// outcome is how a call ended.
type outcome struct {
	Call    uint64 `json:"call"`
	Sent    int64  `json:"sent"` // Unix time in nanoseconds
	Done    int64  `json:"done"`
	Code    string `json:"-"`
	Message string `json:"message"`
	Backend string `json:"backend"`
}

var codeName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,39}$`)

func parseOutcome(line []byte) (o outcome, err error) {
	var read struct {
		outcome
		Call *uint64         `json:"call"`
		Code json.RawMessage `json:"code"` // a name, or a number of gRPC; missing or null: OK
	}
	if json.Unmarshal(line, &read) != nil || read.Call == nil {
		return o, unexpectedLine(line, "an outcome such as "+outcomeLine)
	}
	o = read.outcome
	o.Call = *read.Call
	text := strings.TrimPrefix(string(read.Code), "null")
	if number, err := strconv.ParseUint(text, 10, 32); err == nil {
		text = h2.Status{Code: uint32(number)}.Name()
	} else if text != "" {
		if text, err = strconv.Unquote(text); err != nil {
			return o, unexpectedLine(line, "a code such as \"UNAVAILABLE\" or 14")
		}
	}
	switch o.Code = text; {
	case o.Code == "":
		o.Code = measure.OK
	case !codeName.MatchString(o.Code):
		return o, unexpectedLine(line, "a code of capital letters, digits and _")
	}
	if o.Sent <= 0 || o.Done < o.Sent {
		return o, unexpectedLine(line, "sent and done in nanoseconds since 1970, sent first")
	}
	return o, nil
}

func (o outcome) outcome() caller.Outcome {
	return caller.Outcome{Backend: o.Backend, Code: o.Code, Message: o.Message}
}

func (o outcome) sent() time.Time { return time.Unix(0, o.Sent) }
func (o outcome) done() time.Time { return time.Unix(0, o.Done) }

// contractError is the error of a program that wrote what it must not write.
type contractError struct{ error }

func (e *contractError) Unwrap() error { return e.error }

// calls are those that the program has not answered.
type calls struct {
	ended chan struct{} // closed when no more answers can arrive
	err   error         // why; valid after ended is closed

	mu      sync.Mutex
	first   uint64 // number
	next    uint64
	step    uint64 // between two numbers, which callers that share a load take in turn
	waiting map[uint64]waiting
	late    map[uint64]bool // lost calls, which may still have their outcome; at most maxLate
	manyOld bool            // more calls are late, of which a second outcome is not noticed
}

// maxLate bounds the memory for lost calls.
const maxLate = 100_000

// waiting is a call that has begun.
type waiting struct {
	answered chan outcome
	since    time.Time
}

func newCalls(c caller.Command) *calls {
	return &calls{ended: make(chan struct{}), first: c.Caller, next: c.Caller, step: max(c.Callers, 1), waiting: map[uint64]waiting{}, late: map[uint64]bool{}}
}

// begin returns the number of a new call, and where its outcome arrives.
func (c *calls) begin() (n uint64, answered chan outcome) {
	answered = make(chan outcome, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	n = c.next
	c.next += c.step
	c.waiting[n] = waiting{answered, time.Now()}
	return n, answered
}

// forget says that nobody waits for the outcome of a call any more.
func (c *calls) forget(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, is := c.waiting[n]; !is {
		return
	}
	delete(c.waiting, n)
	if len(c.late) < maxLate {
		c.late[n] = true
	} else {
		c.manyOld = true
	}
}

// clockStep is how much earlier than a call began its client may have sent it, and how much later than its outcome is
// read it may have ended: the machine's clock can be adjusted.
const clockStep = 10 * time.Millisecond

// answer passes on an outcome; nobody waits for that of a call that was cancelled. It returns an error if the call
// was never due or has an outcome already, if it was sent before it began, as its latency would be too short, or if it has
// not ended yet.
func (c *calls) answer(o outcome) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Call < c.first || o.Call >= c.next || (o.Call-c.first)%c.step != 0 {
		return fmt.Errorf("it wrote an outcome of call %d, which was never due: write the number that rpclab wrote", o.Call)
	}
	call, ok := c.waiting[o.Call]
	switch {
	case ok:
	case c.late[o.Call]:
		delete(c.late, o.Call)
		return nil
	case c.manyOld:
		return nil
	default:
		return fmt.Errorf("it wrote a second outcome of call %d: write one line for each call", o.Call)
	}
	if early := call.since.Sub(o.sent()); early > clockStep {
		return fmt.Errorf("it wrote that it sent call %d %v before rpclab wrote its number: sent and done are nanoseconds since 1970, of the machine's clock", o.Call, early.Round(time.Millisecond))
	}
	if early := time.Until(o.done()); early > clockStep {
		return fmt.Errorf("it wrote that call %d ended %v after rpclab read this: sent and done are nanoseconds since 1970, of the machine's clock", o.Call, early.Round(time.Millisecond))
	}
	delete(c.waiting, o.Call)
	call.answered <- o
	return nil
}

// end says that no more answers can arrive.
func (c *calls) end(err error) {
	c.err = err
	close(c.ended)
}

// violation returns the error of a program that wrote what it must not write; nil: it did not.
func (c *calls) violation() error {
	select {
	case <-c.ended:
		if wrong, ok := errors.AsType[*contractError](c.err); ok {
			return wrong
		}
	default:
	}
	return nil
}
