// Package browser opens the pages that rpclab makes in a real Chromium.
package browser

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"rpclab/internal/report/html"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
	"rpclab/internal/testkit/chrome"
)

// browser is one for all tests: it takes a second or more to start.
var browser *chrome.Browser

func TestMain(m *testing.M) {
	var err error
	if browser, err = chrome.Launch(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testkit.Main(m, browser.Close)
}

// page writes the report of a run to a file and opens that.
func page(t testing.TB, d result.Document, v chrome.Viewport) *chrome.Page {
	t.Helper()
	var out bytes.Buffer
	if err := html.Write(&out, d); err != nil {
		t.Fatal(err)
	}
	return opened(t, out.Bytes(), v)
}

func opened(t testing.TB, content []byte, v chrome.Viewport) *chrome.Page {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := browser.Open("file://"+path, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// eval evaluates an expression in the page.
func eval[T any](t testing.TB, p *chrome.Page, expression string) T {
	t.Helper()
	var out T
	if err := p.Eval(expression, &out); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// press types a key several times.
func press(t testing.TB, p *chrome.Page, key string, times int) {
	t.Helper()
	for range times {
		if err := p.Press(key); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	desk  = chrome.Viewport{Width: 1200, Height: 900}
	phone = chrome.Viewport{Width: 375, Height: 800}
	night = chrome.Viewport{Width: 1200, Height: 900, Dark: true}
	paper = chrome.Viewport{Width: 794, Height: 1123, Print: true}
)
