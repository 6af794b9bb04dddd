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

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// outputs are where a result goes besides the terminal.
type outputs struct {
	json, md string
}

func (o *outputs) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.json, "json", "", "write the result to `file`; - is standard output, with nothing else on it")
	flags.StringVar(&o.md, "md", "", "write the report in Markdown to `file`")
}

// check finds out before a long run whether the files can be written.
func (o outputs) check() error {
	if o.md == "-" {
		return errors.New("--md -: standard output has the report already; name a file")
	}
	for _, path := range []string{o.json, o.md} {
		if path == "" || path == "-" {
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

// write draws the document in every form that was asked for.
func (o outputs) write(c *cobra.Command, d result.Document) error {
	var errs []error
	if o.json == "-" {
		errs = append(errs, result.Write(c.OutOrStdout(), d))
	} else {
		errs = append(errs, report.Terminal(c.OutOrStdout(), d, terminal(c.OutOrStdout())))
		errs = append(errs, toFile(o.json, func(w io.Writer) error { return result.Write(w, d) }))
	}
	errs = append(errs, toFile(o.md, func(w io.Writer) error { return report.Markdown(w, d) }))
	return errors.Join(errs...)
}

// toFile writes a file beside its place and moves it there, so that none is left half
// written, and an old one stays until the new one is whole.
func toFile(path string, draw func(io.Writer) error) (err error) {
	if path == "" {
		return nil
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
