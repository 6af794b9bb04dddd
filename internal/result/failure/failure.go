// Package failure tells the reasons of failures apart by their messages, and limits the number of their codes.
package failure

import (
	"strings"
	"unicode"
)

// Reason is a message with which calls failed. Messages that are the [Same] are one reason.
type Reason struct {
	Message string `json:"message"` // the first
	Calls   uint64 `json:"calls"`
}

// Most is how many reasons [Add] keeps: messages may be of any number.
const Most = 5

// Add adds calls that failed with a message to the reasons of a code. Calls without a message, or with a further one
// when there are [Most] reasons, are not added.
func Add(reasons []Reason, message string, calls uint64) []Reason {
	if message == "" {
		return reasons
	}
	for i := range reasons {
		if reasons[i].Message == message {
			reasons[i].Calls += calls
			return reasons
		}
	}
	for i := range reasons {
		if Same(reasons[i].Message, message) {
			reasons[i].Calls += calls
			return reasons
		}
	}
	if len(reasons) == Most {
		return reasons
	}
	return append(reasons, Reason{message, calls})
}

// Merge adds the reasons of more calls of a code.
func Merge(reasons, more []Reason) []Reason {
	for _, r := range more {
		reasons = Add(reasons, r.Message, r.Calls)
	}
	return reasons
}

// AddAll merges the reasons of a code into those of all codes, of which it makes a map if there are any.
func AddAll(all *map[string][]Reason, code string, reasons []Reason) {
	if len(reasons) == 0 {
		return
	}
	if *all == nil {
		*all = map[string][]Reason{}
	}
	(*all)[code] = Merge((*all)[code], reasons)
}

// limits are what a client or a server can run out of, with the lower-case words of kernels and runtimes for it.
var limits = []struct {
	name  string
	words []string
}{
	{"too many threads", []string{"unable to create native thread", "can't start new thread", "failed to create new os thread"}},
	{"too many open files", []string{"too many open files"}},
	{"no free local port", []string{"cannot assign requested address", "can't assign requested address"}},
	{"out of memory", []string{"out of memory", "cannot allocate memory", "outofmemoryerror", "memoryerror", "memory allocation of"}},
}

// Limit names the limit that a message says was reached, such as "out of memory"; "": the message names none.
func Limit(message string) string {
	limit, _ := cutLimit(message)
	return limit
}

// cutLimit returns the limit that a message names, and the message in lower case without the words for it.
func cutLimit(message string) (limit, rest string) {
	message = strings.ToLower(message)
	for _, l := range limits {
		for _, words := range l.words {
			if before, after, found := strings.Cut(message, words); found {
				return l.name, before + after
			}
		}
	}
	return "", message
}

// Same reports whether two messages give the same reason: they name the same limit, and differ in figures, in the words
// for the limit, or in the log of a process alone. A log may name the limit.
func Same(a, b string) bool {
	limitA, _ := cutLimit(a)
	limitB, _ := cutLimit(b)
	return limitA == limitB && key(a) == key(b)
}

// key leaves out the log of a process, the digits and points, and the words for a limit.
func key(message string) string {
	_, message = cutLimit(WithoutLog(message))
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) || r == '.' {
			return -1
		}
		return r
	}, message)
}

// WithoutLog leaves out the last lines of a process that exited.
func WithoutLog(message string) string {
	message, _, _ = strings.Cut(message, "; its last lines")
	return message
}
