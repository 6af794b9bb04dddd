package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	for _, path := range []string{o.json, o.md} {
		if path == "" || path == "-" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return fmt.Errorf("cannot write %s: there is no directory %s; make it first", path, filepath.Dir(path))
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

// toFile writes a file in one go, so that none is left half written.
func toFile(path string, draw func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	var text bytes.Buffer
	if err := draw(&text); err != nil {
		return err
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
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
