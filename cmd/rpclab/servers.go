package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/internal/language"
)

func serversCommand() *cobra.Command {
	command := &cobra.Command{Use: "servers", Short: "The programs under test in other languages"}
	command.AddCommand(&cobra.Command{
		Use:   "build [LANGUAGE]...",
		Short: "Build servers and callers of other languages",
		Long: `Builds servers and callers with the languages' own tools, into a cache: those of
the languages named, or of all. What is built already, from the same sources,
is not built again. Prints what runs them, a language a line.`,
		Example: `  rpclab servers build
  rpclab servers build rust java`,
		ValidArgs: foreign(),
		Args: func(_ *cobra.Command, names []string) error {
			for _, name := range names {
				if _, err := language.Lookup(name); err != nil {
					return usage{err}
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, names []string) error { return buildServers(c, names) },
	})
	return command
}

// buildServers builds as many of the languages named as it can, none named: of all.
func buildServers(c *cobra.Command, names []string) error {
	if len(names) == 0 {
		names = foreign()
	}
	var errs []error
	for _, name := range names {
		l, err := language.Lookup(name)
		if err != nil {
			return err
		}
		say := func(line string) { fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", name, line) }
		command, err := l.Build(c.Context(), []string{"rpclab", "server"}, &byLine{say: say})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", name, strings.Join(command, " "))
	}
	return errors.Join(errs...)
}

// foreign are the languages other than our own.
func foreign() (names []string) {
	for _, l := range language.All() {
		if l.Name != language.Go {
			names = append(names, l.Name)
		}
	}
	return names
}

// byLine says what is written to it, a line at a time.
type byLine struct {
	say  func(string)
	rest string
}

// Write implements [io.Writer].
func (b *byLine) Write(p []byte) (int, error) {
	lines := strings.Split(b.rest+string(p), "\n")
	b.rest = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		b.say(line)
	}
	return len(p), nil
}

// toolchains says of every language whether its programs are built, or can be.
func toolchains() (all []finding) {
	for _, l := range language.All() {
		if l.Name == language.Go {
			continue
		}
		f := finding{what: l.Name, state: "ok", seen: "its servers are built"}
		if _, err := l.Command(nil); err != nil {
			f.seen, f.help = "its servers can be built", "rpclab servers build "+l.Name
			if missing := l.Missing(); len(missing) > 0 {
				f.state, f.seen, f.help = "note", "its servers cannot be built", strings.Join(missing, "; ")
			}
		}
		all = append(all, f)
	}
	return all
}
