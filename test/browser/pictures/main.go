// Pictures makes the screenshots in docs/images: `make screenshots`.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"rpclab/internal/report/html"
	"rpclab/internal/result"
	"rpclab/internal/testkit/chrome"
)

// pictures are parts of reports: those of recorded runs, so that nobody has to wait for new ones.
var pictures = []struct {
	name, run, from, to string // the first and the last element in it
}{
	{"report", "channels", "header", "#latency figure"},
	{"report-events", "churn", "#backends", "#events figure"},
}

func main() {
	if err := takeAll("docs/images"); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func takeAll(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b, err := chrome.Launch()
	if err != nil {
		return err
	}
	defer b.Close()
	work, err := os.MkdirTemp("", "rpclab-pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, p := range pictures {
		page := filepath.Join(work, p.name+".html")
		if err := write(page, filepath.Join("test/browser/testdata", p.run+".json.gz")); err != nil {
			return err
		}
		for scheme, dark := range map[string]bool{"light": false, "dark": true} {
			if err := take(b, "file://"+page, p.from, p.to, dark, filepath.Join(dir, p.name+"-"+scheme+".png")); err != nil {
				return err
			}
		}
	}
	return takeLive(b, work, dir)
}

// write makes the page of a recorded run.
func write(page, run string) (err error) {
	packed, err := os.Open(run)
	if err != nil {
		return err
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	d, err := result.Read(plain)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	return errors.Join(html.Write(&out, d), os.WriteFile(page, out.Bytes(), 0o600))
}

// take pictures all from the top of one element to the bottom of another.
func take(b *chrome.Browser, url, from, to string, dark bool, file string) error {
	p, err := b.Open(url, chrome.Viewport{Width: 1040, Height: 900, Dark: dark})
	if err != nil {
		return err
	}
	defer p.Close()
	var edges []float64
	if err := p.Eval(fmt.Sprintf(`[document.querySelector(%q).getBoundingClientRect().top, document.querySelector(%q).getBoundingClientRect().bottom]`, from, to), &edges); err != nil {
		return err
	}
	const margin = 24
	top := max(0, edges[0]-margin)
	picture, err := p.Screenshot(0, top, 1040, edges[1]+margin-top)
	if err != nil {
		return err
	}
	return os.WriteFile(file, picture, 0o644)
}
