package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	generator "rpclab/internal/load"
	"rpclab/internal/load/summary"
	"rpclab/internal/process"
	"rpclab/internal/report"
	"rpclab/internal/report/html"
	"rpclab/internal/result"
)

// outputs are the files to which a command writes its result.
type outputs struct {
	json, md, html, csv, junit string
	benchstat, k6              string
	hgrm                       string // a directory
	color                      string
	full                       bool // print the full report, not only the summary
	keepPaths                  bool // leave absolute paths in the files
}

func (o *outputs) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.json, "json", "", "write the result as JSON to `file`; - writes nothing else to standard output")
	flags.StringVar(&o.md, "md", "", "write the report as Markdown to `file`")
	flags.StringVar(&o.color, "color", colorAuto, "`when` the report on standard output has colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	o.registerJUnit(flags)
}

// registerRun is for commands that report on one run.
func (o *outputs) registerRun(flags *pflag.FlagSet) {
	flags.BoolVar(&o.full, "full", false, "print the full report: every table, event, cost, error and warning")
	o.registerFiles(flags)
}

func (o *outputs) registerFiles(flags *pflag.FlagSet) {
	flags.StringVar(&o.html, "html", "", "write the report with charts to one HTML `file`")
	flags.StringVar(&o.csv, "csv", "", "write a row for each trial to `file`, for spreadsheets and scripts")
}

// registerJUnit is for every command with files.
func (o *outputs) registerJUnit(flags *pflag.FlagSet) {
	flags.BoolVar(&o.keepPaths, "keep-paths", false, "leave absolute paths in the files (default: only the last element of each, so that files can be shared)")
	flags.StringVar(&o.junit, "junit", "", "write JUnit XML for CI systems to `file`")
}

// check finds out before a long run whether the files can be written.
func (o outputs) check() error {
	if colors := []string{colorAuto, colorAlways, colorNever}; o.color != "" && !slices.Contains(colors, o.color) {
		return fmt.Errorf("--color %s: must be %s, %s or %s", o.color, colorAuto, colorAlways, colorNever)
	}
	for _, only := range []struct{ flag, path string }{{"--md", o.md}, {"--html", o.html}, {"--csv", o.csv}, {"--junit", o.junit}} {
		if only.path == "-" {
			return fmt.Errorf("%s -: rpclab prints the report on standard output; name a file", only.flag)
		}
	}
	var toOutput []string
	for _, one := range []struct{ flag, path string }{{"--json", o.json}, {"--benchstat", o.benchstat}, {"--k6-summary", o.k6}} {
		if one.path == "-" {
			toOutput = append(toOutput, one.flag+" -")
		}
	}
	if len(toOutput) > 1 {
		return fmt.Errorf("%s write to standard output; name a file for one of them", strings.Join(toOutput, " and "))
	}
	files := o.files()
	for i, path := range files {
		dir := filepath.Dir(process.BehindLinks(path))
		if slices.ContainsFunc(files[:i], func(other string) bool { return process.BehindLinks(other) == process.BehindLinks(path) }) {
			return fmt.Errorf("two outputs write to %s: name a file for each", path)
		}
		probe, err := os.CreateTemp(dir, ".rpclab-")
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot write %s: the directory %s does not exist; create it first", path, dir)
		}
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		probe.Close()
		if err := os.Remove(probe.Name()); err != nil {
			return err
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("cannot write %s: the path is a directory; name a file in it", path)
		}
	}
	return nil
}

// files are the files to which a result is written; devices, pipes and descriptors are none.
func (o outputs) files() (files []string) {
	for _, path := range []string{o.json, o.md, o.html, o.csv, o.junit, o.benchstat, o.k6} {
		if path != "" && path != "-" && !process.IsStream(process.BehindLinks(path)) {
			files = append(files, path)
		}
	}
	return files
}

// withoutFiles leaves out these files.
func (o outputs) withoutFiles() outputs {
	files := o.files()
	for _, path := range []*string{&o.json, &o.md, &o.html, &o.csv, &o.junit, &o.benchstat, &o.k6} {
		if slices.Contains(files, *path) {
			*path = ""
		}
	}
	return o
}

// forPlan leaves out every file but that of --json, and that too if only the configuration file names it.
func (o outputs) forPlan(json bool) outputs {
	o.md, o.html, o.csv, o.junit = "", "", "", ""
	if !json {
		o.json = ""
	}
	return o
}

// renderings write one result in several formats.
type renderings struct{ terminal, json, md, html, csv, junit, benchstat, k6 func(io.Writer) error }

// render writes every form that was asked for: files first, because most commands end when nobody reads their standard
// output.
func (o outputs) render(out io.Writer, d renderings) error {
	errs := []error{writeFile(o.md, d.md), writeFile(o.html, d.html), writeFile(o.csv, d.csv), writeFile(o.junit, d.junit)}
	printed := d.terminal // or another form in place of that for terminals
	for _, form := range []struct {
		path string
		draw func(io.Writer) error
	}{{o.json, d.json}, {o.benchstat, d.benchstat}, {o.k6, d.k6}} {
		if form.path == "-" {
			printed = form.draw
			continue
		}
		errs = append(errs, writeFile(form.path, form.draw))
	}
	return errors.Join(append(errs, unlessUnread(printed(out)))...)
}

// write renders a document.
func (o outputs) write(c *cobra.Command, d result.Document) error {
	shared := d
	if !o.keepPaths {
		shared = result.WithoutPaths(shared)
	}
	return errors.Join(o.writeDistributions(shared), o.render(c.OutOrStdout(), renderings{
		terminal:  func(w io.Writer) error { return o.renderReport(w, d) },
		json:      func(w io.Writer) error { return result.Write(w, shared) },
		md:        func(w io.Writer) error { return report.Markdown(w, shared) },
		html:      func(w io.Writer) error { return html.Write(w, shared) },
		csv:       func(w io.Writer) error { return report.CSV(w, shared) },
		junit:     func(w io.Writer) error { return report.JUnit(w, shared) },
		benchstat: func(w io.Writer) error { return report.Benchstat(w, shared) },
		k6:        func(w io.Writer) error { return report.K6Summary(w, shared) },
	}))
}

// writeFile writes a file that was asked for.
func writeFile(path string, draw func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	return process.WriteFile(path, draw)
}

// writeDistributions writes a file for each arm.
func (o outputs) writeDistributions(d result.Document) error {
	if o.hgrm == "" {
		return nil
	}
	if err := os.MkdirAll(o.hgrm, 0o755); err != nil {
		return fmt.Errorf("cannot write to %s: %w", o.hgrm, err)
	}
	var errs []error
	for _, distribution := range report.Distributions(d) {
		errs = append(errs, writeFile(filepath.Join(o.hgrm, distribution.Name+".hgrm"), distribution.Write))
	}
	return errors.Join(errs...)
}

// renderReport writes the report of a run, or the summary of `rpclab load`.
func (o outputs) renderReport(out io.Writer, d result.Document) error {
	options := o.terminal(out)
	if isLoad(d) {
		return summary.Terminal(out, d, options.Color)
	}
	options.Full = o.full
	return report.Terminal(out, d, options)
}

// isLoad reports whether a run is one of `rpclab load`. An experiment may have the same name.
func isLoad(d result.Document) bool {
	return d.Experiment == generator.Experiment && len(d.Arms) == 1
}

// The values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// terminal returns the width of a terminal and whether the text has colours; by default plain text of 80
// columns that is no terminal's.
func (o outputs) terminal(w io.Writer) (options report.Options) {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			options.Width = width
		}
		options.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	if o.color == colorAlways || o.color == colorNever {
		options.Color = o.color == colorAlways
	}
	return options
}
