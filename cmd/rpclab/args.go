package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/suggest"
)

func knownCommand(c *cobra.Command, args []string) error { return known(c, "command", args) }

// known returns an error if an argument is not the name of a subcommand, which users know as what.
func known(c *cobra.Command, what string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usageError{fmt.Errorf("no %s %q%s\nSee '%s --help'", what, args[0], suggest.DidYouMean(args[0], names), c.CommandPath())}
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s accepts no arguments, but got %q\nSee '%s --help'", c.CommandPath(), args[0], c.CommandPath())}
	}
	return nil
}

// exactly requires that a command has n runs as arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usageError{fmt.Errorf("%s needs %d %s, but got %d ('rpclab runs' lists them)\nSee '%s --help'",
			c.CommandPath(), n, what, len(args), c.CommandPath())}
	}
}

// otherNames are names that other load generators (fortio, ghz, grpcurl, h2load, k6) have for flags of `rpclab load`.
var otherNames = map[string]string{
	"method": "call", "header": "metadata", "qps": "rate", "rps": "rate",
	"requests": "calls", "total": "calls", "threads": "cores", "users": "concurrency", "vus": "concurrency",
}

// meantFlag returns the end of the error about a flag that a command does not have: the flag that it most likely means.
func meantFlag(flags *pflag.FlagSet, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	name := unknown.GetSpecifiedName()
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	meant := otherNames[name]
	if !slices.Contains(names, meant) {
		meant = suggest.Similar(name, names)
	}
	if meant == "" {
		return ""
	}
	return "; did you mean --" + meant + "?"
}

// mixFlag adds the flag --mix. Its default is none, which the help would show as [].
func mixFlag(flags *pflag.FlagSet, to *map[string]string, usage string) {
	flags.StringToStringVar(to, "mix", nil, usage)
	flags.Lookup("mix").DefValue = ""
}
