package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/cluster/kubernetes"
)

// registerKubernetes adds the flags that select a Kubernetes cluster.
func registerKubernetes(flags *pflag.FlagSet, config *kubernetes.ClientConfig) {
	flags.StringVar(&config.Kubeconfig, "kubeconfig", "", "`file` with the cluster's address and credentials (default: the file that kubectl uses)")
	flags.StringVar(&config.Context, "context", "", "`name` of the kubeconfig context (default: the current context)")
}

func cleanCommand() *cobra.Command {
	var where kubernetes.ClientConfig
	var all bool
	var olderThan ageFlag
	command := &cobra.Command{
		Use:   "clean",
		Short: "Remove namespaces that dead runs left on Kubernetes",
		Long: `Removes the namespaces of runs whose rpclab process died, uncordons the nodes
that such a run had cordoned, and restores the number of replicas of
Deployments that it had scaled (run --allow-disruption). Every new run does the
same when it starts. A run is alive while it renews its lease. One minute after
the rpclab process died, a reaper pod also deletes the namespace, but not if the
run cordoned nodes or scaled Deployments: these wait for a clean-up.

Images that rpclab loaded stay on the nodes. To delete one there: crictl rmi
rpclab:CHECKSUM (kind, k3d: docker exec NODE crictl rmi rpclab:CHECKSUM;
minikube: minikube image rm rpclab:CHECKSUM).`,
		Example: `  rpclab clean                      remove dead runs
  rpclab clean --all                remove every run, also runs in progress
  rpclab clean --older-than 24h     remove dead runs that began over 24 h ago`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := kubernetes.Connect(c.Context(), where)
			if err != nil {
				return err
			}
			defer api.Close()
			bar := newProgress(c.ErrOrStderr(), progressFlags{})
			var alive []string // namespaces
			cleaned, err := api.Clean(c.Context(), func(run kubernetes.RunNamespace) bool {
				if !run.Dead && !run.Deleting {
					alive = append(alive, run.Namespace)
				}
				return (all || run.Dead) && time.Since(run.Began) > time.Duration(olderThan)
			}, bar.wait)
			bar.end()
			for _, run := range cleaned {
				for _, restored := range run.Restored {
					fmt.Fprintf(c.OutOrStdout(), "%s  (run %s)\n", restored, run.Run)
				}
				if !run.Remains {
					fmt.Fprintf(c.OutOrStdout(), "%s  owner %s, began %s\n", run.Namespace, printable(run.Owner), run.Began.Local().Format(time.DateTime))
				}
			}
			if len(cleaned) == 0 && err == nil {
				fmt.Fprintln(c.OutOrStdout(), "nothing to remove"+stillAlive(alive))
			}
			return err
		},
	}
	flags := command.Flags()
	flags.BoolVar(&all, "all", false, "also remove runs in progress")
	flags.Var(&olderThan, "older-than", "only remove runs that began longer ago than this `time`, such as 30d or 12h")
	registerKubernetes(flags, &where)
	return command
}

// stillAlive names the namespaces whose runs count as alive; empty: there are none.
func stillAlive(namespaces []string) string {
	if len(namespaces) == 0 {
		return ""
	}
	return "; the runs of " + strings.Join(namespaces, ", ") + " are in progress, or ended less than a minute ago (--all removes them)"
}
