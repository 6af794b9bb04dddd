package report

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rpclab/internal/result"
)

func TestNumbersAreFormatted(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{ms(0), "0.00"}, {ms(1.234), "1.23"}, {ms(9.996), "10.0"}, {ms(687.7), "687.7"}, {ms(999.96), "1,000"}, {ms(-12.34), "-12.3"},
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(-1234567), "-1,234,567"},
		{ThreeDigits(0.0123), "0.0123"}, {ThreeDigits(99.46), "99.5"}, {ThreeDigits(99.96), "100"}, {ThreeDigits(1826), "1,826"},
		{plural(1, "process"), "1 process"}, {plural(2, "process"), "2 processes"},
		{ratio(1.004), "1.00"}, {ratio(12.34), "12.3"}, {ratio(1234.6), "1,235"},
		{ratio(0.01456), "0.015"}, {ratio(0.0299), "0.030"}, {ratio(0.0094), "0.0094"}, {ratio(0.0997), "0.10"},
		{ratioInTable(0.0141, result.UpperBound), "≤ 0.015"}, {ratioInTable(1.231, result.UpperBound), "≤ 1.24"}, {ratioInTable(0.3, result.UpperBound), "≤ 0.30"},
		{ratioInTable(1.239, result.LowerBound), "≥ 1.23"}, {ratioInTable(3, result.LowerBound), "≥ 3.00"}, {ratioInTable(12.39, result.LowerBound), "≥ 12.3"},
		{ratioInTable(1e7, result.LowerBound), ">999,999"}, {ratioInTable(1e-5, result.UpperBound), "<0.001"}, {ratioInTable(1.236, ""), "1.24"},
		{boundedRatio(1.239, result.LowerBound), "at least 1.23"}, {boundedRatio(1e-5, result.UpperBound), "under 0.001"}, {boundedRatio(1e7, result.LowerBound), "over 999,999"},
		{chance(0.00001), "p < 0.001"}, {chance(0.4211), "p = 0.42"},
		{percentUp(0.0004), "0.1 %"}, {percentUp(0.0099), "1.0 %"},
		{span(41200 * time.Millisecond), "41.2 s"}, {span(192 * time.Second), "3 min 12 s"}, {span(61 * time.Minute), "1 h 1 min"},
		{cellName(result.Cell{"load.burst": 2000.0}), "burst = 2,000"},
		{cellName(result.Cell{"load.open.rate": 0.5, "server.rate": "fast"}), "load.open.rate = 0.5, server.rate = fast"},
		{clean("a\x1b[2J\nb `c`\u202e"), "a [2J b 'c'"},
		{cut("endpointslice-again", 9), "endp…gain"},
		{escape("a|b *c* `rpclab run x_y` <d>"), "a\\|b \\*c\\* `rpclab run x_y` &lt;d&gt;"},
		{and([]string{"a", "b", "c"}), "a, b and c"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestARoundWithoutAValueCountsAsTheLongest(t *testing.T) {
	never := math.Inf(1)
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{1, never, 3}, 3}, {[]float64{1, never, never}, never}, {[]float64{1, never}, never}, {[]float64{4, 2}, 3}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestWrappedTextFitsAndKeepsEveryCharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zé ]{0,200}`).Draw(t, "text")
		width := rapid.IntRange(1, 40).Draw(t, "width")
		lines := wrap(text, width)
		for _, line := range lines {
			if utf8.RuneCountInString(line) > width {
				t.Fatalf("the line %q is wider than %d columns", line, width)
			}
		}
		bare := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if bare(strings.Join(lines, "")) != bare(text) {
			t.Fatalf("the wrapped lines of %q are %q, want the same characters", text, lines)
		}
	})
}

func TestTablesFitAndKeepEveryColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(2, 12).Draw(t, "columns")
		width := rapid.IntRange(40, 80).Draw(t, "width")
		grid := table{rows: [][]string{nil}}
		for c := range columns {
			grid.columns = append(grid.columns, column{name: "c" + string(rune('a'+c))})
			grid.rows[0] = append(grid.rows[0], rapid.StringMatching(`x{1,100}`).Draw(t, "cell"))
		}
		text := strings.Join(grid.lines(width), "\n")
		for _, line := range strings.Split(text, "\n") {
			if utf8.RuneCountInString(line) > width {
				t.Fatalf("the line %q is wider than %d columns", line, width)
			}
		}
		for _, column := range grid.columns {
			if !strings.Contains(text, column.name) {
				t.Fatalf("no column %s in\n%s", column.name, text)
			}
		}
	})
}

func TestSparklinesUseTheirWholeScale(t *testing.T) {
	if got := spark([]float64{0, 5, 10, math.NaN(), 20}, 10); got != "▁▅█ █" {
		t.Errorf("the sparkline is %q, want %q", got, "▁▅█ █")
	}
	if diff := cmp.Diff([]float64{2, 7}, fit([]float64{1, 3, math.NaN(), 7}, 2)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{1, 1, 1, 2, 2}, fit([]float64{1, 2}, 5)); diff != "" {
		t.Error(diff)
	}
}

func TestEachBackendHasABar(t *testing.T) {
	for want, backends := range map[string][]uint64{"█▁▁": {0, 90, 0}, "███": {30, 29, 31}, "█▅": {4, 7}, "██████▁▁▁▁▁▁": slices.Concat(make([]uint64, 12), slices.Repeat([]uint64{5}, 12))} {
		if got := barOfEach(backends); got != want {
			t.Errorf("the bars of %v are %s, want %s", backends, got, want)
		}
	}
}

func TestStripesShareOneAxis(t *testing.T) {
	got := pictureLines([]stripe{{label: "a", values: []float64{1, 1, 1, 1}, top: 1}, {label: "b", values: []float64{1, 1}, top: 1}, {label: "c", top: 1}}, 11)
	if diff := cmp.Diff([]string{"a  ████████", "b  ████    ", "c          "}, got); diff != "" {
		t.Error(diff)
	}
}
