package experiment

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"time"

	"rpclab/internal/suggest"
)

// decoder converts nodes to Go values. It continues after an error, to find all of them.
type decoder struct {
	problems
	grammar *grammar
	arms    []string // known names, for paths that go through an arm
	// complete: configs are merged, so defaults apply and required fields must be there.
	complete bool
}

var slug = regexp.MustCompile(`^[A-Za-z0-9-]{1,40}$`)

func (d *decoder) scalar(typ *valueType, n *node, into reflect.Value) {
	if n.kind != scalar {
		d.add(n.at, "%s must be %s, not %s", typ.title(), typ.wanted(), n.describe())
		return
	}
	switch typ.kind {
	case integer, number:
		d.number(typ, n, into)
	case duration:
		d.duration(typ, n, into)
	case percent:
		d.percent(typ, n, into)
	case memory:
		d.size(typ, n, into)
	case flag:
		if b, ok := n.value.(bool); ok {
			into.SetBool(b)
		} else {
			d.add(n.at, "%s must be true or false, not %s", typ.title(), n.describe())
		}
	case text:
		d.text(typ, n, into)
	}
}

func (d *decoder) number(typ *valueType, n *node, into reflect.Value) {
	v, ok := n.number()
	whole := ok && v == math.Trunc(v) && math.Abs(v) <= 1<<53
	switch {
	case !ok || math.IsNaN(v) || typ.kind == integer && !whole && !math.IsInf(v, 0) && math.Abs(v) <= 1<<53:
		d.add(n.at, "%s must be %s, not %s", typ.title(), typ.wanted(), n.describe())
	case !typ.within(v):
		d.add(n.at, "%s must be %s, not %s", typ.title(), typ.span(), n.text)
	case typ.kind == number:
		into.SetFloat(v)
	case whole:
		into.SetInt(int64(v))
	default:
		d.add(n.at, "%s: %s is too large", typ.title(), n.text)
	}
}

var bareNumber = regexp.MustCompile(`^[-+]?[0-9.]+$`)

func (d *decoder) duration(typ *valueType, n *node, into reflect.Value) {
	v, err := time.ParseDuration(n.text)
	_, isText := n.value.(string)
	switch {
	case bareNumber.MatchString(n.text) && n.text != "0":
		d.add(n.at, "%q has no unit: use a duration such as 500ms or 2s", n.text)
	case err != nil || !isText && n.text != "0":
		d.add(n.at, "%s must be a duration such as 500ms or 2s, not %s", typ.title(), n.describe())
	case !typ.within(float64(v)):
		d.add(n.at, "%s must be %s, not %s", typ.title(), typ.span(), n.text)
	default:
		into.SetInt(int64(v))
	}
}

func (d *decoder) percent(typ *valueType, n *node, into reflect.Value) {
	v, ok := ParsePercent(n.text)
	switch {
	case bareNumber.MatchString(n.text):
		d.add(n.at, "%q has no unit: use a percentage such as 2%%", n.text)
	case !ok:
		d.add(n.at, "%s must be a percentage such as 2%%, not %s", typ.title(), n.describe())
	case !typ.within(float64(v)):
		d.add(n.at, "%s must be %s, not %s", typ.title(), typ.span(), n.text)
	default:
		into.SetFloat(float64(v))
	}
}

func (d *decoder) text(typ *valueType, n *node, into reflect.Value) {
	v, ok := n.value.(string)
	switch {
	case n.value == nil:
		d.add(n.at, "%s is empty: set a value or remove the field", typ.title())
	case !ok:
		d.add(n.at, "%s must be text, not %s: put it in quotes", typ.title(), n.describe())
	case v == "":
		d.add(n.at, "%s is empty", typ.title())
	case typ.noun != "" && typ.enum != nil && !slices.Contains(typ.enum, v):
		d.add(n.at, "no %s %q%s", typ.noun, v, suggest.DidYouMean(v, typ.enum))
	case typ.noun == "" && typ.enum != nil && !slices.Contains(typ.enum, v):
		d.add(n.at, "%s must be %s, not %q%s", typ.title(), joinOr(typ.enum), v, didYouMean(v, typ.enum))
	case typ.slug && !slug.MatchString(v):
		d.add(n.at, "%s %q: use letters, digits and dashes, at most 40", typ.title(), v)
	default:
		into.SetString(v)
	}
}

func (d *decoder) size(typ *valueType, n *node, into reflect.Value) {
	v, ok := parseSize(n.text)
	switch {
	case bareNumber.MatchString(n.text):
		d.add(n.at, "%q has no unit: use a size such as 512Mi or 1.5Gi", n.text)
	case !ok:
		d.add(n.at, "%s must be %s, not %s", typ.title(), typ.wanted(), n.describe())
	case !typ.within(float64(v)):
		d.add(n.at, "%s must be %s, not %s", typ.title(), typ.span(), n.text)
	default:
		into.SetUint(uint64(v))
	}
}
