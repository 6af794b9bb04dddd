// Package chrome opens pages in Chromium, for tests and screenshots.
package chrome

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Timeout limits every operation in a page. It is long, for busy machines.
const Timeout = 2 * time.Minute

// Browser is a running Chromium.
type Browser struct {
	ctx   context.Context
	close func()
}

// Launch starts a browser. The caller closes it. It also ends with this process.
func Launch() (*Browser, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(Timeout), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("host-resolver-rules", "MAP lab.test 127.0.0.1"))
	if os.Geteuid() == 0 { // Chromium refuses to sandbox root
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	b := &Browser{ctx: ctx, close: func() { _ = chromedp.Cancel(ctx); cancel(); stop() }}
	if err := chromedp.Run(ctx); err != nil {
		b.Close()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return b, nil
}

// Close ends the browser and waits until it has ended.
func (b *Browser) Close() { b.close() }

func find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("chromium is missing, which the tests of pages need: make test-tools gets it (Debian: apt-get install chromium)")
}

// Viewport is the size and appearance of a page.
type Viewport struct {
	Width, Height int // CSS pixels; below 600 wide as on a phone
	Dark, Print   bool
	Scale         float64 // pixels of a picture for each of those; 0: 1
}

// Page is an open tab.
type Page struct {
	Ctx   context.Context // of chromedp's actions
	close func()

	mu         sync.Mutex
	complaints []string
	requests   []string
}

// Open opens a tab on the address and waits until it has loaded. The caller closes it.
func (b *Browser) Open(url string, v Viewport) (*Page, error) {
	tab, cancelTab := chromedp.NewContext(b.ctx)
	ctx, cancel := context.WithTimeout(tab, Timeout)
	p := &Page{Ctx: ctx, close: func() { cancel(); _ = chromedp.Cancel(tab); cancelTab() }}
	chromedp.ListenTarget(tab, p.hear)
	scale := v.Scale
	if scale == 0 {
		scale = 1
	}
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(),
		emulation.SetDeviceMetricsOverride(int64(v.Width), int64(v.Height), scale, v.Width < 600),
		v.media(), chromedp.Navigate(url)); err != nil {
		p.Close()
		return nil, fmt.Errorf("open %s: %w", url, err)
	}
	return p, nil
}

func (v Viewport) media() chromedp.Action {
	scheme, medium := "light", "screen"
	if v.Dark {
		scheme = "dark"
	}
	if v.Print {
		medium = "print"
	}
	return emulation.SetEmulatedMedia().WithMedia(medium).
		WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}})
}

// hear collects the console messages and requests of the page.
func (p *Page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			for _, arg := range e.Args {
				p.complaints = append(p.complaints, string(e.Type)+": "+string(arg.Value)+arg.Description)
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			p.complaints = append(p.complaints, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") {
			p.requests = append(p.requests, e.Request.URL)
		}
	}
}

// ConsoleErrors returns the errors and warnings in the page's console so far.
func (p *Page) ConsoleErrors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.complaints...)
}

// Requests returns the URLs that the page has requested so far, its own first.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.requests...)
}

// Eval evaluates an expression, awaits a promise, and stores the result in out.
func (p *Page) Eval(expression string, out any) error {
	return chromedp.Run(p.Ctx, chromedp.Evaluate(expression, out, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
}

// Press types keys, such as kb.Tab.
func (p *Page) Press(keys string) error { return chromedp.Run(p.Ctx, chromedp.KeyEvent(keys)) }

// Close closes the tab.
func (p *Page) Close() { p.close() }

// Screenshot returns a PNG of a rectangle of the page in CSS pixels, also outside the visible
// part.
func (p *Page) Screenshot(x, y, width, height float64) (png []byte, err error) {
	err = chromedp.Run(p.Ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		png, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).
			WithClip(&page.Viewport{X: x, Y: y, Width: width, Height: height, Scale: 1}).Do(ctx)
		return err
	}))
	return png, err
}
