// Pictures takes the screenshot in the README: `make screenshots`.
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

// The picture is the head of the report of a recorded run, down to its first row of verdicts.
const (
	run     = "test/browser/testdata/channels.json.gz"
	picture = "docs/images/report.png"
	end     = "#verdicts .cards > :first-child"
	width   = 1040
	margin  = 16
)

func main() {
	if err := take(); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func take() error {
	work, err := os.MkdirTemp("", "rpclab-pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	report := filepath.Join(work, "report.html")
	if err := write(report); err != nil {
		return err
	}
	b, err := chrome.Launch()
	if err != nil {
		return err
	}
	defer b.Close()
	p, err := b.Open("file://"+report, chrome.Viewport{Width: width, Height: 900})
	if err != nil {
		return err
	}
	defer p.Close()
	var bottom float64
	if err := p.Eval(fmt.Sprintf("document.querySelector(%q).getBoundingClientRect().bottom", end), &bottom); err != nil {
		return err
	}
	png, err := p.Screenshot(0, 0, width, bottom+margin)
	return errors.Join(err, os.WriteFile(picture, png, 0o644))
}

// write writes the report of the run to a file.
func write(report string) error {
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
	return errors.Join(html.Write(&out, d), os.WriteFile(report, out.Bytes(), 0o600))
}
