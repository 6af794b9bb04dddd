package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/cluster/kubernetes"
)

// registerWhere adds the flags that say which Kubernetes.
func registerWhere(flags *pflag.FlagSet, w *kubernetes.Where) {
	flags.StringVar(&w.Kubeconfig, "kubeconfig", "", "`file` that says where the Kubernetes is (default: as kubectl finds it)")
	flags.StringVar(&w.Context, "context", "", "of the kubeconfig (default: its current one)")
}

func cleanCommand() *cobra.Command {
	var where kubernetes.Where
	var all bool
	var older time.Duration
	command := &cobra.Command{
		Use:   "clean",
		Short: "Remove what runs left on a Kubernetes",
		Long: `Removes the namespaces of runs whose owner died, as every run does when it
begins, and opens the nodes that such a run had closed. A run lives while it
renews its lease. A pod of each run, its reaper, does the same a minute after
its owner died, but for nodes.`,
		Example: `  rpclab clean                      of runs that died
  rpclab clean --all                of every run, also of those that go on
  rpclab clean --older-than 24h     of runs that died and began long ago`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := kubernetes.Connect(where)
			if err != nil {
				return err
			}
			removed, err := api.Clean(c.Context(), func(l kubernetes.Left) bool {
				return (all || l.Dead) && time.Since(l.Began) > older
			})
			for _, l := range removed {
				fmt.Fprintf(c.OutOrStdout(), "%s  of %s, began %s\n", l.Namespace, l.Owner, l.Began.Local().Format(time.DateTime))
			}
			if len(removed) == 0 && err == nil {
				fmt.Fprintln(c.OutOrStdout(), "nothing to remove")
			}
			return err
		},
	}
	flags := command.Flags()
	flags.BoolVar(&all, "all", false, "of runs that go on too")
	flags.DurationVar(&older, "older-than", 0, "only of runs that began longer ago")
	registerWhere(flags, &where)
	return command
}
