package condition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Operator compares a value with a limit.
type Operator string

// The operators. Those that order values come first.
const (
	Less    Operator = "<"
	AtMost  Operator = "<="
	More    Operator = ">"
	AtLeast Operator = ">="
	equal   Operator = "=="
	unequal Operator = "!="
)

var (
	ordering  = []Operator{Less, AtMost, More, AtLeast}
	operators = append(slices.Clone(ordering), equal, unequal)
)

func (o Operator) holds(got, limit float64) bool {
	switch o {
	case Less:
		return got < limit
	case AtMost:
		return got <= limit
	case More:
		return got > limit
	case AtLeast:
		return got >= limit
	case equal:
		return got == limit
	}
	return got != limit
}

// holdsAbove reports whether the comparison holds for every value from a lower bound on.
func (o Operator) holdsAbove(bound, limit float64) bool {
	switch o {
	case More:
		return bound > limit
	case AtLeast:
		return bound >= limit
	case unequal:
		return bound > limit
	}
	return false
}

const (
	space     = " \t\r\n"
	ratioWord = "ratio"
)

func trim(text string) string { return strings.Trim(text, space) }

// joiner joins comparisons.
var joiner = regexp.MustCompile(`&&|\band\b`)

// scanner reads one comparison of a text from left to right.
type scanner struct {
	text string
	at   int    // where the last token begins
	rest string // of the comparison
	end  int    // of the comparison in the text
}

// eachComparison calls read for each comparison of a text until one is wrong.
func eachComparison(text string, read func(*scanner) error) error {
	from := 0
	for _, joint := range append(joiner.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		rest := strings.TrimRight(text[from:joint[0]], space)
		if err := read(&scanner{text: text, rest: rest, end: from + len(rest)}); err != nil {
			return err
		}
		from = joint[1]
	}
	return nil
}

// skip moves to the next token.
func (s *scanner) skip() {
	s.rest = strings.TrimLeft(s.rest, space)
	s.at = s.end - len(s.rest)
}

// word consumes the text up to a space or an operator.
func (s *scanner) word() string {
	s.skip()
	n := strings.IndexAny(s.rest, "<>=!"+space)
	if n < 0 {
		n = len(s.rest)
	}
	word := s.rest[:n]
	s.rest = s.rest[n:]
	return word
}

// operator consumes the longest of the allowed operators, which follows a word.
func (s *scanner) operator(after string, allowed []Operator) (longest Operator, err error) {
	s.skip()
	for _, o := range allowed {
		if strings.HasPrefix(s.rest, string(o)) && len(o) > len(longest) {
			longest = o
		}
	}
	if longest == "" {
		return "", s.failed(fmt.Errorf("after %s write one of %s", after, strings.Trim(fmt.Sprint(allowed), "[]")))
	}
	s.rest = s.rest[len(longest):]
	return longest, nil
}

// value consumes the rest, a value with the unit.
func (s *scanner) value(u unit) (value, error) {
	s.skip()
	v, err := u.parse(s.rest)
	if err != nil {
		return v, s.failed(err)
	}
	return v, nil
}

// failed is an error at the last token, with its column counted from 1.
func (s *scanner) failed(err error) error {
	return fmt.Errorf("%q, column %d: %w", s.text, s.at+1, err)
}
