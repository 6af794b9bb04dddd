package browser

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"rpclab/internal/testkit"
)

// A program that captures the whole page resizes the window first, some by way of a window that
// has no room for a chart. The page must not draw bars of negative width then.
func TestPageFitsATinyWindow(t *testing.T) {
	for _, name := range []string{"churn", "channels"} {
		t.Run(name, func(t *testing.T) {
			p := page(t, full(t, name), desk)
			for _, width := range []int64{1, 40, 90, 160, 320, 1200} {
				if err := chromedp.Run(p.Ctx, emulation.SetDeviceMetricsOverride(width, 900, 1, false)); err != nil {
					t.Fatal(err)
				}
				testkit.Await(t, "the width of the window", func() bool { return eval[int64](t, p, `document.documentElement.clientWidth`) == width })
				eval[bool](t, p, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
			}
			var picture []byte
			if err := chromedp.Run(p.Ctx, chromedp.FullScreenshot(&picture, 100)); err != nil {
				t.Fatal(err)
			}
			sound(t, p)
		})
	}
}
