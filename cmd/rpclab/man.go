package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the man pages, for packages of rpclab.
func manCommand() *cobra.Command {
	var date, format string
	command := &cobra.Command{
		Use:     "man DIRECTORY",
		Short:   "Write a man page for each command",
		Example: "  rpclab man /usr/local/share/man/man1",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("rpclab man needs the directory for the man pages\nSee 'rpclab man --help'")}
			}
			if format != "man" && format != "markdown" {
				return usageError{fmt.Errorf("--format %s: choose man or markdown", format)}
			}
			return nil
		},
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			header := &doc.GenManHeader{Source: "rpclab", Manual: "rpclab manual"}
			written := time.Now()
			if date != "" {
				var err error
				if written, err = time.Parse(time.DateOnly, date); err != nil {
					return usageError{fmt.Errorf("--date %s: write it as 2026-11-23", date)}
				}
			}
			header.Date = &written
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("cannot write man pages: %w", err)
			}
			c.Root().DisableAutoGenTag = true
			if format == "markdown" {
				return doc.GenMarkdownTree(c.Root(), args[0])
			}
			return doc.GenManTree(c.Root(), header, args[0])
		},
	}
	command.Flags().StringVar(&format, "format", "man", "`format` of the pages: man or markdown")
	command.Flags().StringVar(&date, "date", "", "the `date` of the pages: 2026-11-23 (default: today)")
	return command
}
