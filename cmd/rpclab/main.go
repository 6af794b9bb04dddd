// Command rpclab compares how services call each other.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/internal/result"
	"rpclab/internal/version"
)

func main() {
	ctx, stop := interruptible()
	defer stop()
	command := root()
	named := asPlugin(command, os.Args[0])
	command.SetArgs(withTwoDashes(os.Args[1:]))
	executed, err := command.ExecuteContextC(ctx)
	if err != nil && !errors.Is(err, errReported) {
		text := printable(strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted"))
		fmt.Fprintln(os.Stderr, "rpclab:", named(strings.TrimPrefix(text, "rpclab "))) // which many errors begin with, before a command
		if errors.Is(err, result.ErrStore) && executed.Flags().Lookup("no-store") != nil {
			fmt.Fprintln(os.Stderr, "rpclab: or use --no-store: then rpclab does not store the result")
		}
		if defaults := executed.Annotations[appliedDefaults]; defaults != "" && exitCode(err) == exitUsage {
			fmt.Fprintln(os.Stderr, "rpclab:", defaults)
		}
	}
	stop()
	os.Exit(exitCode(err))
}

func root() *cobra.Command {
	command := &cobra.Command{
		Use:   "rpclab",
		Short: "Compare how services call each other",
		Long: `rpclab starts servers, calls them over each route under comparison, injects
faults, and reports which differences exceed chance.`,
		Example: `  rpclab run channels --quick     run the experiment channels, scaled down
  rpclab list                     list the built-in experiments
  rpclab doctor                   check what this machine lacks`,
		Version:       describeBuild(version.Current()),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.SetUsageFunc(usage)
	command.SetVersionTemplate("{{.Version}}")
	command.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w%s\nSee '%s --help'", err, meantFlag(c.Flags(), err), c.CommandPath())}
	})
	command.AddCommand(
		runCommand(), initCommand(), loadCommand(), cleanCommand(), listCommand(), runsCommand(), reportCommand(), compareCommand(), serveCommand(),
		serverCommand(), xdsCommand(), gatewayCommand(), labCommand(), callerCommand(), agentCommand(), reapCommand(), infrastructureCommand(), programCommand(), forwardCommand(), faultProxyCommand(), selfTestServerCommand(), imageCommand(), serversCommand(), doctorCommand(), manCommand(), schemaCommand(), versionCommand(),
	)
	command.InitDefaultCompletionCmd()
	if completion, _, err := command.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = knownCommand, func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	for _, name := range configurable {
		if sub, _, err := command.Find([]string{name}); err == nil {
			readDefaults(sub)
		}
	}
	return command
}
