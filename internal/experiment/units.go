package experiment

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Percent is a share: 2 is 2 %.
type Percent float64

// String is the form of experiment files: 2%.
func (p Percent) String() string { return strconv.FormatFloat(float64(p), 'f', -1, 64) + "%" }

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

// ParseBytes reads a size such as 1.5Gi.
func ParseBytes(text string) (Bytes, error) {
	size, ok := parseSize(text)
	if !ok {
		return 0, fmt.Errorf("%q is not a size of memory: use one such as 512Mi or 1.5Gi", text)
	}
	return size, nil
}

// ParseMemory reads a memory limit, which the field server.memory accepts too.
func ParseMemory(text string) (Bytes, error) {
	size, err := ParseBytes(text)
	if err == nil && (size < 8<<20 || size > 1<<40) {
		err = fmt.Errorf("%s: use 8Mi to 1Ti", text)
	}
	return size, err
}

// String uses the largest unit that gives a whole number.
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

// formatDuration omits the zero units of Duration.String: 1m, not 1m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// percentForm matches a non-negative percentage.
var percentForm = regexp.MustCompile(`^([0-9]+(\.[0-9]*)?|\.[0-9]+) ?%$`)

// ParsePercent parses a share in the form of experiment files: 2%.
func ParsePercent(text string) (Percent, bool) {
	if !percentForm.MatchString(text) {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.TrimRight(text, " %"), 64)
	return Percent(v), err == nil
}
