package browser

import (
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/testkit/chrome"
	"rpclab/internal/web"
)

// pageOfAPair is the live page of two arms side by side: 100 and 400 calls/s, of which some fail. The arms report the same
// second a few milliseconds apart.
func pageOfAPair(t *testing.T) *chrome.Page {
	t.Helper()
	s, err := web.New(web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at, end, err := web.Listen("127.0.0.1:0", s.Handler(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		end()
	})
	show, _ := s.Follow(experiment.Plan{Name: "pair", Rounds: 1, Design: experiment.SideBySide, Arms: []experiment.Arm{{Name: "one"}, {Name: "two"}}}, "id", func() {})
	of := experiment.Trial{Round: 1, Arm: "one"}
	show(lab.Progress{Trial: of})
	for second := range 3 {
		for i, arm := range []string{"one", "two"} {
			elapsed := time.Duration(second+1)*time.Second + time.Duration(i)*2*time.Millisecond
			show(lab.Progress{Trial: of, Live: &lab.Live{Arm: arm, Load: 1, Elapsed: elapsed, Rate: float64(100 + 300*i),
				P50: time.Duration(i+1) * time.Millisecond, P99: time.Duration(i+5) * time.Millisecond, Failed: uint64(10 * (second + 1))}})
		}
	}
	p, err := browser.Open("http://"+at.String()+"/", desk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	await(t, p, "the calls of each second", `document.querySelector(".pictures figure svg")`)
	return p
}

// The bars of failed calls were as narrow as the time between the reports, and as high as if the calls had failed in it.
func TestFailedCallsOfArmsSideBySideAreOneBarForEachSecond(t *testing.T) {
	heights := eval[[]float64](t, pageOfAPair(t), `[...document.querySelectorAll(".pictures figure:first-child svg [aria-label=rect] rect")].map((bar) => Number(bar.getAttribute("height")))`)
	if len(heights) != 3 || math.Abs(heights[0]-heights[1]) > 1 || math.Abs(heights[0]-heights[2]) > 1 {
		t.Errorf("the bars have the heights %v, want 3 of the same height", heights)
	}
}

// Rate and latency of each arm are level. One line of both arms goes up and down between them.
func TestArmsSideBySideHaveLinesOfTheirOwn(t *testing.T) {
	p := pageOfAPair(t)
	for chart, want := range map[string][]int{"first-child": {1, 1}, "nth-child(2)": {1, 1, 1, 1}} {
		levels := `[...document.querySelectorAll(".pictures figure:` + chart + ` .picture svg [aria-label=line] path")].map((line) =>
			new Set(line.getAttribute("d").match(/[\d.]+,[\d.]+/g).map((point) => Math.round(point.split(",")[1]))).size)`
		if lines := eval[[]int](t, p, levels); !slices.Equal(lines, want) {
			t.Errorf("%s: the lines have %v levels, want %v", chart, lines, want)
		}
		names := `[...document.querySelectorAll(".pictures figure:` + chart + ` .legend li")].map((name) => name.textContent)`
		if arms := eval[[]string](t, p, names); !slices.Equal(arms, []string{"one", "two"}) {
			t.Errorf("%s: the legend has %q, want both arms", chart, arms)
		}
	}
	if of := eval[string](t, p, `document.querySelector(".figures dt").textContent`); of != "Calls, last second of two" {
		t.Errorf("the figures are %q, want those of the arm that reported last", of)
	}
}
