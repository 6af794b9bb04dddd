package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/internal/language"
)

func serversCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "servers",
		Short: "Build servers and callers in other languages",
		Args:  knownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(&cobra.Command{
		Use:   "build [LANGUAGE]...",
		Short: "Build servers and callers of other languages",
		Long: `Builds the servers and callers of the named languages, or of all languages, with
each language's own tools, into a cache. Unchanged sources are not built again.
Prints the command that runs the server, one line per language.`,
		Example: `  rpclab servers build
  rpclab servers build rust java`,
		ValidArgs: otherLanguages(),
		Args: func(_ *cobra.Command, names []string) error {
			for _, name := range names {
				if _, err := language.Lookup(name); err != nil {
					return usageError{err}
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, names []string) error { return buildServers(c, names) },
	})
	return command
}

// buildServers builds the named languages, or all if none is named, and continues after an error.
func buildServers(c *cobra.Command, names []string) error {
	if len(names) == 0 {
		names = otherLanguages()
	}
	var errs []error
	for _, name := range names {
		l, err := language.Lookup(name)
		if err != nil {
			return err
		}
		say := func(line string) { fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", name, line) }
		command, err := l.Build(c.Context(), []string{"rpclab", "server"}, &lineWriter{say: say})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", name, strings.Join(command, " "))
	}
	return errors.Join(errs...)
}

// otherLanguages are the names of all languages but Go.
func otherLanguages() (names []string) {
	for _, l := range language.All() {
		if l.Name != language.Go {
			names = append(names, l.Name)
		}
	}
	return names
}

// lineWriter passes each complete line to say.
type lineWriter struct {
	say  func(string)
	rest string
}

// Write implements [io.Writer].
func (b *lineWriter) Write(p []byte) (int, error) {
	lines := strings.Split(b.rest+string(p), "\n")
	b.rest = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		b.say(line)
	}
	return len(p), nil
}
