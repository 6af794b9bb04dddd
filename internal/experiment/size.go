package experiment

import (
	"math"
	"reflect"
	"regexp"
	"strconv"
)

// Bytes is a size of memory, written as Kubernetes does: 1.5Gi is 1.5 · 2³⁰ bytes.
type Bytes uint64

// sizeUnits are from small to large.
var sizeUnits = []string{"Ki", "Mi", "Gi", "Ti"}

var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(Ki|Mi|Gi|Ti)$`)

func parseSize(text string) (Bytes, bool) {
	parts := sizeForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(parts[1], 64)
	for _, unit := range sizeUnits {
		v *= 1024
		if unit == parts[2] {
			break
		}
	}
	return Bytes(math.Round(v)), err == nil && v < 1<<60
}

// String is the size in the largest unit of which it is a whole number.
func (b Bytes) String() string {
	text := strconv.FormatUint(uint64(b), 10)
	for _, unit := range sizeUnits {
		if b == 0 || b%1024 != 0 {
			break
		}
		b /= 1024
		text = strconv.FormatUint(uint64(b), 10) + unit
	}
	return text
}

func (d *decoder) size(s *shape, n *node, into reflect.Value) {
	v, ok := parseSize(n.text)
	switch {
	case bareNumber.MatchString(n.text):
		d.add(n.at, "%q has no unit: write a size such as 512Mi or 1.5Gi", n.text)
	case !ok:
		d.add(n.at, "%s must be %s, not %s", s.title(), s.wanted(), n.describe())
	case !s.within(float64(v)):
		d.add(n.at, "%s must be %s, not %s", s.title(), s.span(), n.text)
	default:
		into.SetUint(uint64(v))
	}
}

func sizeBound(text string) *bound {
	if v, ok := parseSize(text); ok {
		return &bound{float64(v), text}
	}
	return nil
}
