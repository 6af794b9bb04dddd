package main

import (
	"github.com/spf13/cobra"

	"rpclab/internal/cluster/kubernetes"
)

// reapCommand watches over a run from within its cluster. People never run it.
func reapCommand() *cobra.Command {
	var namespace string
	command := &cobra.Command{
		Use:   "reap --namespace NAME",
		Short: "Remove the namespace of a run whose owner dies (used by rpclab itself)",
		Long: `Watches the lease of a run from within the cluster, and deletes the run's
namespace when its owner has not renewed it in time.`,
		Args: noArgs, Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := kubernetes.Connect(kubernetes.Where{})
			if err != nil {
				return err
			}
			return api.Reap(c.Context(), namespace)
		},
	}
	command.Flags().StringVar(&namespace, "namespace", "", "`name` of the run's namespace")
	_ = command.MarkFlagRequired("namespace") // fails for a flag that is not there
	return command
}
