package main

import (
	"fmt"

	"github.com/spf13/cobra"

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
