package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// removeFlags select the runs to remove.
type removeFlags struct {
	olderThan ageFlag
	keep      int
	dryRun    bool
}

func removeCommand() *cobra.Command {
	var f removeFlags
	command := &cobra.Command{
		Use:   "rm [RUN]...",
		Short: "Remove stored runs",
		Long: `Removes stored runs: those that you name by their IDs, or those that flags
select. --older-than and --keep together remove the old runs that are not among
the newest. They keep runs in progress, and the last good run of an experiment
with gates, because gates compare with it. To remove that run, name it.`,
		Example: `  rpclab runs rm 20261120-184512-x7k2
  rpclab runs rm --older-than 30d --keep 100
  rpclab runs rm --keep 100 --dry-run`,
		Args: func(c *cobra.Command, refs []string) error { return f.check(c, refs) },
		RunE: withStore(result.OpenStore, func(c *cobra.Command, store *result.Store, refs []string) error {
			return f.remove(c, store, refs)
		}),
	}
	flags := command.Flags()
	flags.Var(&f.olderThan, "older-than", "remove the runs that began longer ago than this `time`, such as 30d or 12h")
	flags.IntVar(&f.keep, "keep", 0, "remove all runs but the newest `number`")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the runs, and remove none")
	return command
}

func (f removeFlags) check(c *cobra.Command, refs []string) error {
	selected := c.Flags().Changed("older-than") || c.Flags().Changed("keep")
	switch {
	case c.Flags().Changed("keep") && f.keep < 1:
		return usageError{fmt.Errorf("--keep %d: keep at least 1 run", f.keep)}
	case selected && len(refs) > 0:
		return usageError{fmt.Errorf("%s: name runs, or select them by --older-than and --keep, not both", c.CommandPath())}
	case !selected && len(refs) == 0:
		return usageError{fmt.Errorf("%s: name the runs to remove ('rpclab runs' lists them), or use --older-than or --keep\nSee '%s --help'",
			c.CommandPath(), c.CommandPath())}
	}
	return nil
}

func (f removeFlags) remove(c *cobra.Command, store *result.Store, refs []string) error {
	if len(refs) == 0 {
		rows, err := store.List(c.Context())
		if err != nil {
			return err
		}
		needed, err := store.NeededByGates(c.Context())
		if err != nil {
			return err
		}
		var kept []string
		refs, kept = f.selected(rows, needed, time.Now())
		for _, id := range kept {
			fmt.Fprintf(c.ErrOrStderr(), "rpclab: kept %s: gates compare with it; 'rpclab runs rm %s' removes it\n", id, id)
		}
		if len(refs) == 0 {
			fmt.Fprintln(c.OutOrStdout(), "nothing to remove")
			return nil
		}
	}
	remove := store.Remove
	if f.dryRun {
		remove = store.Removable
	}
	removed, err := remove(c.Context(), refs...)
	if errors.Is(err, result.ErrUnknownRun) || errors.Is(err, result.ErrInProgress) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	for _, id := range removed {
		fmt.Fprintln(c.OutOrStdout(), report.Clean(id))
	}
	if f.dryRun {
		return nil
	}
	return store.Shrink(c.Context())
}

// selected returns the IDs of the runs to remove, of these with the newest first, and of those that stay because gates
// need them.
func (f removeFlags) selected(rows []result.RunSummary, needed map[string]bool, now time.Time) (ids, kept []string) {
	for i, row := range rows {
		switch {
		case i < f.keep || row.Status == result.Running || now.Sub(row.Started) <= time.Duration(f.olderThan):
		case needed[row.ID]:
			kept = append(kept, row.ID)
		default:
			ids = append(ids, row.ID)
		}
	}
	return ids, kept
}

// ageFlag is a duration that can also be in days: 30d.
type ageFlag time.Duration

func (a *ageFlag) Type() string { return "time" }

func (a *ageFlag) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

func (a *ageFlag) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			*a = ageFlag(time.Duration(n) * 24 * time.Hour)
			return nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("use a time such as 30d, 12h or 90m")
	}
	*a = ageFlag(d)
	return nil
}
