package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	generator "rpclab/internal/load"
	"rpclab/internal/load/summary"
	"rpclab/internal/report"
	"rpclab/internal/report/html"
	"rpclab/internal/result"
)

// outputs are where a result goes besides the terminal.
type outputs struct {
	json, md, html, junit string
}

func (o *outputs) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.json, "json", "", "write the result to `file`; - is standard output, with nothing else on it")
	flags.StringVar(&o.md, "md", "", "write the report in Markdown to `file`")
	o.registerJUnit(flags)
}

// registerHTML is for the commands that have one run to show.
func (o *outputs) registerHTML(flags *pflag.FlagSet) {
	flags.StringVar(&o.html, "html", "", "write the report with pictures, one HTML file, to `file`")
}

func (o *outputs) registerJUnit(flags *pflag.FlagSet) {
	flags.StringVar(&o.junit, "junit", "", "write JUnit XML for a CI system to `file`")
}

// check finds out before a long run whether the files can be written.
func (o outputs) check() error {
	for _, only := range []struct{ flag, path string }{{"--md", o.md}, {"--html", o.html}, {"--junit", o.junit}} {
		if only.path == "-" {
			return fmt.Errorf("%s -: standard output has the report already; name a file", only.flag)
		}
	}
	for _, path := range []string{o.json, o.md, o.html, o.junit} {
		if path == "" || path == "-" || special(path) {
			continue
		}
		probe, err := os.CreateTemp(filepath.Dir(path), ".rpclab-")
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot write %s: there is no directory %s; make it first", path, filepath.Dir(path))
		}
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		probe.Close()
		if err := os.Remove(probe.Name()); err != nil {
			return err
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("cannot write %s: it is a directory; name a file in it", path)
		}
	}
	return nil
}

// drawings are the forms of what a command has to show.
type drawings struct{ terminal, json, md, html, junit func(io.Writer) error }

// draw writes every form that was asked for.
func (o outputs) draw(out io.Writer, d drawings) error {
	var errs []error
	if o.json == "-" {
		errs = append(errs, d.json(out))
	} else {
		errs = append(errs, d.terminal(out), toFile(o.json, d.json))
	}
	return errors.Join(append(errs, toFile(o.md, d.md), toFile(o.html, d.html), toFile(o.junit, d.junit))...)
}

// write draws the document, and in JUnit's form the checks of its arms too.
func (o outputs) write(c *cobra.Command, d result.Document, checks []report.Check) error {
	return o.draw(c.OutOrStdout(), drawings{
		terminal: func(w io.Writer) error { return draw(w, d) },
		json:     func(w io.Writer) error { return result.Write(w, d) },
		md:       func(w io.Writer) error { return report.Markdown(w, d) },
		html:     func(w io.Writer) error { return html.Write(w, d) },
		junit:    func(w io.Writer) error { return report.JUnit(w, d, checks) },
	})
}

// draw writes the report of a run, or the summary of a load.
func draw(out io.Writer, d result.Document) error {
	if d.Experiment == generator.Experiment {
		return summary.Terminal(out, d)
	}
	return report.Terminal(out, d, terminal(out))
}

// special says that there is something at the path that is no file, such as a pipe.
func special(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// toFile writes a file beside its place and moves it there, so that none is left half
// written, and an old one stays until the new one is whole. A pipe or a device cannot
// be replaced: it is written to.
func toFile(path string, draw func(io.Writer) error) (err error) {
	if path == "" {
		return nil
	}
	if special(path) {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		return errors.Join(draw(file), file.Close())
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".rpclab-")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := errors.Join(draw(file), file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return os.Rename(file.Name(), path)
}

// terminal is what w can show: colours and width of a terminal, or plain 80 columns.
func terminal(w io.Writer) report.Options {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return report.Options{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 0
	}
	return report.Options{Width: width, Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}
