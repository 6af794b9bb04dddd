package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"rpclab/bench/runs"
	"rpclab/internal/process"
	"rpclab/internal/result"
)

// runner measures findings.
type runner struct {
	store   store
	all     list
	sources sources
	program string        // empty: build one
	built   *runs.Program // nil: not yet
	force   bool
}

// isCurrent reports whether a finding was measured by these sources, this experiment and these flags. A document that
// cannot be read is not current.
func (r runner) isCurrent(f finding) (bool, error) {
	sum, err := r.sources.of(f)
	if err != nil {
		return false, err
	}
	old, err := read(r.store.path(f))
	if err != nil {
		log.Printf("%s: not current, since its document cannot be read: %v", f.Name, err)
	}
	return old != nil && old.sources == sum, nil
}

// run measures what is not current, and draws each page as soon as it is measured. A finding that fails or that
// guards refuse keeps its old page, and the others are measured. Another start with the same pages waits.
func (r *runner) run(ctx context.Context, chosen list) error {
	data := filepath.Join(r.store.dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	unlock, err := process.LockDir(ctx, data)
	if err != nil {
		return err
	}
	defer unlock()
	defer func() {
		if r.built != nil {
			r.built.Remove()
		}
	}()
	var kept []string
	for _, f := range chosen {
		is, err := r.isCurrent(f)
		if err == nil && !is {
			err = r.measure(ctx, f)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			log.Printf("%s: %v", f.Name, err)
			kept = append(kept, f.Name)
		case is:
			log.Printf("%s: current", f.Name)
		}
	}
	if err := r.store.draw(r.all, chosen); err != nil {
		return err
	}
	if len(kept) > 0 {
		return fmt.Errorf("%d of %d findings keep their old pages, for the reasons above: %s", len(kept), len(chosen), strings.Join(kept, ", "))
	}
	return nil
}

// measure stores the document of a run, unless guards marked it, and draws its page.
func (r *runner) measure(ctx context.Context, f finding) error {
	sum, err := r.sources.of(f)
	if err != nil {
		return err
	}
	if kept, err := read(r.store.refusedPath(f)); r.force && err == nil && kept != nil && kept.sources == sum {
		log.Printf("%s: accepting the run that guards marked: %s", f.Name, strings.Join(marks(kept.document, f.Fails...), "; "))
		return r.keep(f, *kept)
	}
	log.Printf("%s: measuring, about %s", f.Name, f.Takes)
	began := time.Now()
	document, err := r.runOnce(ctx, f)
	if err != nil {
		return err
	}
	log.Printf("%s: measured in %s", f.Name, time.Since(began).Round(time.Second))
	measured := stored{document, sum, r.sources.commit}
	if why := marks(document, f.Fails...); len(why) > 0 && !r.force {
		if err := measured.write(r.store.refusedPath(f)); err != nil {
			return err
		}
		return fmt.Errorf("the page stays as it is, because guards marked this run: %s. Repeat it, or accept it as it is: -only %s -force", strings.Join(why, "; "), f.Name)
	}
	return r.keep(f, measured)
}

func (r *runner) keep(f finding, s stored) error {
	if err := s.write(r.store.path(f)); err != nil {
		return err
	}
	if err := os.RemoveAll(r.store.refusedPath(f)); err != nil {
		return err
	}
	return r.store.draw(r.all, list{f})
}

// stopping is how long an interrupted rpclab may take to stop its processes.
const stopping = 30 * time.Second

// runOnce runs rpclab, which ends with this process.
func (r *runner) runOnce(ctx context.Context, f finding) (d result.Document, err error) {
	temp, err := process.NewTempDir()
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }()
	if r.program == "" {
		if r.built, err = runs.Build(); err != nil {
			return d, err
		}
		r.program = r.built.Path
	}
	file := filepath.Join(temp.Path, "result.json")
	child, err := process.Start(process.Spec{Args: append([]string{r.program}, append(f.command(), "--no-store", "--json", file)...), HasChildren: true, NoInput: true})
	if err != nil {
		return d, err
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.StopBy(syscall.SIGINT, stopping)
		return d, ctx.Err()
	}
	if child.Err() != nil {
		return d, fmt.Errorf("rpclab %s: %w\n%s", strings.Join(f.command(), " "), child.Err(), child.Log())
	}
	text, err := os.Open(file)
	if err != nil {
		return d, err
	}
	defer text.Close()
	return result.Read(text)
}
