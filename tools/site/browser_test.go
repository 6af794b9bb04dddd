package main

import (
	"flag"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"rpclab/internal/testkit"
	"rpclab/internal/testkit/chrome"
)

// shots is where TestPagesFitTheirWindow writes what it sees.
var shots = flag.String("shots", "", "`directory` for pictures of five pages")

var (
	desk  = chrome.Viewport{Width: 1280, Height: 900}
	night = chrome.Viewport{Width: 1280, Height: 900, Dark: true}
	phone = chrome.Viewport{Width: 375, Height: 800}
)

func opened(t *testing.T, address string, v chrome.Viewport) *chrome.Page {
	t.Helper()
	p, err := browser.Open(address, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func eval[T any](t *testing.T, p *chrome.Page, expression string) T {
	t.Helper()
	var out T
	if err := p.Eval(expression, &out); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return out
}

const tooWide = `document.documentElement.scrollWidth - document.documentElement.clientWidth`

// TestEveryPageIsDrawnOnAPhone opens the files of pages, some one after another in each tab.
func TestEveryPageIsDrawnOnAPhone(t *testing.T) {
	t.Parallel()
	dir, built := site(t)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(built)), func(name string) bool { return strings.HasPrefix(name, "source/") }) // the text of a file
	for some := range slices.Chunk(names, 20) {
		t.Run(some[0], func(t *testing.T) {
			t.Parallel()
			p := opened(t, "file://"+dir+"/"+some[0], phone)
			for i, name := range some {
				if i > 0 {
					if err := chromedp.Run(p.Ctx, chromedp.Navigate("file://"+dir+"/"+name)); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
				if said := p.ConsoleErrors(); len(said) > 0 {
					t.Fatalf("%s: the console says %q", name, said)
				}
				if wide := eval[int](t, p, tooWide); wide > 0 {
					t.Errorf("%s is %d pixels wider than a phone", name, wide)
				}
			}
			if other := slices.DeleteFunc(p.Requests(), func(address string) bool { return strings.HasPrefix(address, "file://"+dir) }); len(other) > 0 {
				t.Errorf("pages ask others: %q", other)
			}
		})
	}
}

// TestSearchFindsPagesWithoutANetwork searches as a reader does, from files and from a web server.
func TestSearchFindsPagesWithoutANetwork(t *testing.T) {
	t.Parallel()
	dir, _ := site(t)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	for from, address := range map[string]string{"files": "file://" + dir, "a web server": server.URL} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			p := opened(t, address+"/index.html", desk)
			for words, want := range map[string]string{
				"kuberesolver":      "experiments/channels.html",
				"detectable":        "glossary.html",
				"max_in_flight":     "reference/experiment.html",
				"rpclab compare":    "reference/commands/rpclab_compare.html",
				"coordinated omiss": "method/open-and-closed.html",
			} {
				eval[bool](t, p, `(document.querySelector("input.md-search__input").value = "", document.querySelector("input.md-search__input").focus(), true)`)
				if err := p.Press(words); err != nil {
					t.Fatal(err)
				}
				testkit.Await(t, words+": "+want, func() bool {
					found := eval[[]string](t, p, `[...document.querySelectorAll(".md-search-result__item a.md-search-result__link")].map(a => a.href)`)
					return slices.ContainsFunc(found, func(link string) bool { return strings.HasPrefix(link, address+"/"+want) })
				})
			}
			if said := p.ConsoleErrors(); len(said) > 0 {
				t.Errorf("the console says %q", said)
			}
			if other := slices.DeleteFunc(p.Requests(), func(asked string) bool { return strings.HasPrefix(asked, address) }); len(other) > 0 {
				t.Errorf("the search asks others: %q", other)
			}
		})
	}
}

// TestPagesFitTheirWindow opens a page of each kind in light and dark; -shots writes the pictures.
func TestPagesFitTheirWindow(t *testing.T) {
	t.Parallel()
	dir, _ := site(t)
	papers := map[string]bool{}
	for _, name := range []string{"index", "architecture", "experiments/channels", "reference/result", "your-service"} {
		for look, v := range map[string]chrome.Viewport{"light": desk, "dark": night, "phone": phone} {
			p := opened(t, "file://"+dir+"/"+name+".html", v)
			if wide := eval[int](t, p, tooWide); wide > 0 {
				t.Errorf("%s, %s: the page is %d pixels wider than its window", name, look, wide)
			}
			if lost := eval[[]string](t, p, `[...document.querySelectorAll("img")].filter(i => !i.naturalWidth).map(i => i.src)`); len(lost) > 0 {
				t.Errorf("%s: pictures without anything: %q", name, lost)
			}
			papers[eval[string](t, p, `getComputedStyle(document.body).backgroundColor`)] = true
			if *shots == "" {
				continue
			}
			png, err := p.Screenshot(0, 0, float64(v.Width), 1800)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(*shots, strings.ReplaceAll(name, "/", "-")+"-"+look+".png"), png, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(papers) != 2 {
		t.Errorf("light and dark have the papers %q", slices.Collect(maps.Keys(papers)))
	}
}
