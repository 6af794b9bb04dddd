package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"rpclab/internal/testkit"
	"rpclab/internal/testkit/chrome"
)

var (
	browser *chrome.Browser
	built   struct {
		sync.Once
		dir   string
		pages map[string]*html.Node // by path
		err   error
	}
)

func TestMain(m *testing.M) {
	var err error
	if browser, err = chrome.Launch(); err == nil {
		built.dir, err = os.MkdirTemp("", "rpclab-site-test-")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testkit.Main(m, browser.Close, func() { _ = os.RemoveAll(built.dir) })
}

// site builds the site once, and returns its directory and its pages.
func site(t *testing.T) (dir string, pages map[string]*html.Node) {
	t.Helper()
	program := testkit.Rpclab(t)
	built.Do(func() {
		if built.err = build(t.Context(), "../..", program, built.dir); built.err != nil {
			return
		}
		built.pages = map[string]*html.Node{}
		built.err = fs.WalkDir(os.DirFS(built.dir), ".", func(name string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(name) != ".html" || name == "404.html" { // which a web server shows for any address
				return err
			}
			file, err := os.Open(filepath.Join(built.dir, name))
			if err != nil {
				return err
			}
			defer file.Close()
			built.pages[name], err = html.Parse(file)
			return err
		})
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir, built.pages
}

// TestLinksLeadSomewhere follows every link, picture, script and style of the site. Only links lead to other sites.
func TestLinksLeadSomewhere(t *testing.T) {
	dir, pages := site(t)
	anchors := map[string]map[string]bool{}
	for name, page := range pages {
		anchors[name] = map[string]bool{"": true}
		for n := range page.Descendants() {
			anchors[name][attribute(n, "id")] = true
		}
	}
	inside, outside := 0, 0
	for name, page := range pages {
		for n := range page.Descendants() {
			for _, key := range []string{"href", "src"} {
				target := attribute(n, key)
				if target == "" || n.Data == "svg" {
					continue
				}
				to, err := url.Parse(target)
				switch {
				case err != nil:
					t.Errorf("%s: %q is not a URL: %v", name, target, err)
				case to.Scheme == "mailto" || to.Scheme == "data":
				case to.Scheme != "" || to.Host != "":
					outside++
					if n.Data != "a" {
						t.Errorf("%s: <%s> loads %s from another site", name, n.Data, target)
					}
					if to.Scheme != "http" && to.Scheme != "https" || !strings.Contains(to.Host, ".") && to.Hostname() != "localhost" {
						t.Errorf("%s: %q is not the address of a page", name, target)
					}
				default:
					inside++
					file := name
					if to.Path != "" {
						file = path.Join(path.Dir(name), to.Path)
					}
					if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
						t.Errorf("%s: the link %q leads nowhere", name, target)
					} else if known := anchors[file]; known != nil && !known[to.Fragment] {
						t.Errorf("%s: %s has no heading #%s", name, file, to.Fragment)
					}
				}
			}
		}
	}
	t.Logf("%d pages, %d links inside the site, %d to others", len(pages), inside, outside)
	if len(pages) < 150 || inside < 10_000 || outside < 100 {
		t.Error("too few links were checked")
	}
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
