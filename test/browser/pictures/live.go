package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"rpclab/internal/process"
	"rpclab/internal/testkit/chrome"
)

// scene is a page of `rpclab serve`, and when there is something to see on it.
type scene struct{ name, path, ready string }

const kept = 4 // runs, so that there is a trend

var (
	// A minute's run, looked at once backends have come and one was killed.
	running = scene{"live", "/", `document.querySelectorAll(".events li").length >= 2 && document.querySelectorAll(".pictures figure").length === 2`}
	stored  = []scene{{"runs", "/runs", `document.querySelectorAll("tbody tr").length > 4`}, {"trend", "/trend?experiment=channels&metric=p99", `document.querySelector("figure svg")`}}
)

var addressed = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)

// takeLive pictures the live page of a real server with real runs.
func takeLive(b *chrome.Browser, work, dir string) error {
	program := filepath.Join(work, "rpclab")
	if out, err := exec.Command("go", "build", "-o", program, "rpclab/cmd/rpclab").CombinedOutput(); err != nil {
		return fmt.Errorf("build rpclab: %w\n%s", err, out)
	}
	env := append(os.Environ(), "RPCLAB_DATA_DIR="+filepath.Join(work, "data"))
	for range kept {
		run := exec.Command(program, "run", "channels", "--quick")
		run.Env = env
		if out, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("run channels: %w\n%s", err, out)
		}
	}
	server, err := process.Start(process.Spec{Args: []string{program, "serve", "--listen", "127.0.0.1:0"}, Env: env})
	if err != nil {
		return err
	}
	defer server.Stop(chrome.Timeout)
	url := ""
	if err := wait("the server says where it is", func() (bool, error) {
		url = addressed.FindString(server.Log())
		return url != "", nil
	}); err != nil {
		return err
	}
	if err := begin(b, url); err != nil {
		return err
	}
	for _, s := range append([]scene{running}, stored...) {
		for scheme, dark := range map[string]bool{"light": false, "dark": true} {
			if err := s.take(b, url, dark, filepath.Join(dir, s.name+"-"+scheme+".png")); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin starts a run of churn by the page's own form.
func begin(b *chrome.Browser, url string) error {
	p, err := b.Open(url, chrome.Viewport{Width: 1040, Height: 900})
	if err != nil {
		return err
	}
	defer p.Close()
	if err := until(p, `document.querySelector("#experiment option")`); err != nil {
		return err
	}
	return p.Eval(`(() => {
		const name = document.querySelector("#experiment");
		name.value = "churn";
		name.dispatchEvent(new Event("change"));
		document.querySelector("#quick").checked = false;
		for (const arm of document.querySelectorAll("input[name=arm]")) arm.checked = arm.value === "endpointslice";
		document.querySelector("button[type=submit]").click();
	})()`, nil)
}

func (s scene) take(b *chrome.Browser, url string, dark bool, file string) error {
	p, err := b.Open(url[:len(url)-1]+s.path, chrome.Viewport{Width: 1040, Height: 900, Dark: dark})
	if err != nil {
		return err
	}
	defer p.Close()
	if err := until(p, s.ready); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	var height float64
	if err := p.Eval(`document.querySelector("form")?.closest("section").getBoundingClientRect().top ?? document.documentElement.scrollHeight`, &height); err != nil {
		return err
	}
	png, err := p.Screenshot(0, 0, 1040, min(height, 1000))
	return errors.Join(err, os.WriteFile(file, png, 0o644))
}

// until waits for what an expression in the page asks.
func until(p *chrome.Page, expression string) error {
	return wait(expression, func() (ok bool, err error) {
		err = p.Eval("Boolean("+expression+")", &ok)
		return ok, err
	})
}

func wait(what string, ok func() (bool, error)) error {
	for end := time.Now().Add(chrome.Timeout); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if done, err := ok(); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("not within %v: %s", chrome.Timeout, what)
}
