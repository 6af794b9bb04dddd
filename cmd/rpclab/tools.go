package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rpclab/internal/tool"
)

// tools says of every program of others whether it is there.
func tools(ctx context.Context) (all []finding) {
	for _, t := range tool.All() {
		f := finding{what: t.Name, state: "ok"}
		path, err := tool.Find(t.Name)
		if err == nil {
			f.seen, err = t.Version(ctx, path)
			f.seen += " (" + path + ")"
		}
		switch {
		case errors.Is(err, tool.ErrMissing):
			f.state, f.seen = "note", "not installed"
			f.help = "For " + t.For + "; " + t.Remedy()
		case err != nil:
			f.state, f.seen, f.help = "note", "does not run", err.Error()
		}
		all = append(all, f)
	}
	return all
}

// installTools gets the tools named that are not there, none named: all.
func installTools(c *cobra.Command, names []string) error {
	if len(names) == 0 {
		for _, t := range tool.All() {
			names = append(names, t.Name)
		}
	}
	var errs []error
	for _, name := range names {
		t, err := tool.Lookup(name)
		if err == nil {
			err = t.Install(c.Context(), func(command string) { fmt.Fprintln(c.ErrOrStderr(), command) })
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func completeTools(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, t := range tool.All() {
		names = append(names, t.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
