package experiment

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/suggest"
)

func (d *decoder) scalar(s *valueType, n *node, into reflect.Value) {
	if n.kind != scalar {
		d.add(n.at, "%s must be %s, not %s", s.title(), s.wanted(), n.describe())
		return
	}
	switch s.kind {
	case integer, number:
		d.number(s, n, into)
	case duration:
		d.duration(s, n, into)
	case percent:
		d.percent(s, n, into)
	case memory:
		d.size(s, n, into)
	case flag:
		if b, ok := n.value.(bool); ok {
			into.SetBool(b)
		} else {
			d.add(n.at, "%s must be true or false, not %s", s.title(), n.describe())
		}
	case text:
		d.text(s, n, into)
	}
}

func (d *decoder) number(s *valueType, n *node, into reflect.Value) {
	v, ok := n.number()
	whole := ok && v == math.Trunc(v) && math.Abs(v) <= 1<<53
	switch {
	case !ok || math.IsNaN(v) || s.kind == integer && !whole && !math.IsInf(v, 0) && math.Abs(v) <= 1<<53:
		d.add(n.at, "%s must be %s, not %s", s.title(), s.wanted(), n.describe())
	case !s.within(v):
		d.add(n.at, "%s must be %s, not %s", s.title(), s.span(), n.text)
	case s.kind == number:
		into.SetFloat(v)
	case whole:
		into.SetInt(int64(v))
	default:
		d.add(n.at, "%s: %s is too large", s.title(), n.text)
	}
}

var bareNumber = regexp.MustCompile(`^[-+]?[0-9.]+$`)

func (d *decoder) duration(s *valueType, n *node, into reflect.Value) {
	v, err := time.ParseDuration(n.text)
	_, isText := n.value.(string)
	switch {
	case bareNumber.MatchString(n.text) && n.text != "0":
		d.add(n.at, "%q has no unit: use a duration such as 500ms or 2s", n.text)
	case err != nil || !isText && n.text != "0":
		d.add(n.at, "%s must be a duration such as 500ms or 2s, not %s", s.title(), n.describe())
	case !s.within(float64(v)):
		d.add(n.at, "%s must be %s, not %s", s.title(), s.span(), n.text)
	default:
		into.SetInt(int64(v))
	}
}

func (d *decoder) percent(s *valueType, n *node, into reflect.Value) {
	v, ok := parsePercent(n.text)
	switch {
	case bareNumber.MatchString(n.text):
		d.add(n.at, "%q has no unit: use a percentage such as 2%%", n.text)
	case !ok:
		d.add(n.at, "%s must be a percentage such as 2%%, not %s", s.title(), n.describe())
	case !s.within(v):
		d.add(n.at, "%s must be %s, not %s", s.title(), s.span(), n.text)
	default:
		into.SetFloat(v)
	}
}

func (d *decoder) text(s *valueType, n *node, into reflect.Value) {
	v, ok := n.value.(string)
	switch {
	case n.value == nil:
		d.add(n.at, "%s is empty: set a value or remove the field", s.title())
	case !ok:
		d.add(n.at, "%s must be text, not %s: put it in quotes", s.title(), n.describe())
	case v == "":
		d.add(n.at, "%s is empty", s.title())
	case s.noun != "" && s.enum != nil && !slices.Contains(s.enum, v):
		d.add(n.at, "no %s %q%s", s.noun, v, suggest.DidYouMean(v, s.enum))
	case s.noun == "" && s.enum != nil && !slices.Contains(s.enum, v):
		d.add(n.at, "%s must be %s, not %q%s", s.title(), joinOr(s.enum), v, didYouMean(v, s.enum))
	case s.slug && !slug.MatchString(v):
		d.add(n.at, "%s %q: use letters, digits and dashes, at most 40", s.title(), v)
	default:
		into.SetString(v)
	}
}

func (s *valueType) within(v float64) bool {
	return (s.low == nil || v >= s.low.value) && (s.high == nil || v <= s.high.value)
}

func (s *valueType) span() string {
	switch {
	case s.low == nil && s.high == nil:
		return "a number"
	case s.high == nil:
		return "at least " + s.low.text
	case s.low == nil:
		return "at most " + s.high.text
	}
	return s.low.text + " to " + s.high.text
}

func (s *valueType) wanted() string {
	switch s.kind {
	case integer:
		return "a whole number"
	case number:
		return "a number"
	case duration:
		return "a duration such as 500ms or 2s"
	case percent:
		return "a percentage such as 2%"
	case memory:
		return "a size such as 512Mi or 1.5Gi"
	case flag:
		return "true or false"
	}
	return "text"
}

func (n *node) number() (float64, bool) {
	switch v := n.value.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// describe describes a value in a message.
func (n *node) describe() string {
	switch {
	case n.kind == mapping && len(n.pairs) == 0:
		return "an empty mapping"
	case n.kind == mapping:
		return "a mapping"
	case n.kind == sequence:
		return "a list"
	case n.value == nil:
		return "empty"
	}
	text := n.text
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "…"
	}
	if _, ok := n.value.(string); ok {
		return strconv.Quote(text)
	}
	return text
}

func joinOr(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}

func didYouMean(word string, names []string) string {
	if near := suggest.Nearest(word, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

func (d *decoder) size(s *valueType, n *node, into reflect.Value) {
	v, ok := parseSize(n.text)
	switch {
	case bareNumber.MatchString(n.text):
		d.add(n.at, "%q has no unit: use a size such as 512Mi or 1.5Gi", n.text)
	case !ok:
		d.add(n.at, "%s must be %s, not %s", s.title(), s.wanted(), n.describe())
	case !s.within(float64(v)):
		d.add(n.at, "%s must be %s, not %s", s.title(), s.span(), n.text)
	default:
		into.SetUint(uint64(v))
	}
}
