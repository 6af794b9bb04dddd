package browser

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/web"
)

// Arms side by side report the same second a few milliseconds apart. The bars of failed calls were that narrow, and as
// high as if the calls had failed in that time.
func TestFailedCallsOfArmsSideBySideAreOneBarForEachSecond(t *testing.T) {
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
			show(lab.Progress{Trial: of, Live: &lab.Live{Arm: arm, Load: 1, Elapsed: elapsed, Rate: 100, Failed: uint64(10 * (second + 1))}})
		}
	}
	p, err := browser.Open("http://"+at.String()+"/", desk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	await(t, p, "the calls of each second", `document.querySelector(".pictures figure svg")`)
	heights := eval[[]float64](t, p, `[...document.querySelectorAll(".pictures figure:first-child svg [aria-label=rect] rect")].map((bar) => Number(bar.getAttribute("height")))`)
	if len(heights) != 3 || math.Abs(heights[0]-heights[1]) > 1 || math.Abs(heights[0]-heights[2]) > 1 {
		t.Errorf("the bars have the heights %v, want 3 of the same height", heights)
	}
}
