package main

import (
	"github.com/spf13/cobra"

	"rpclab/internal/lab"
)

// callerCommand is the process in which a trial's calls are made. People never run it.
func callerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "caller",
		Short:  "Make the calls of one trial (used by rpclab itself)",
		Args:   noArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return lab.Work(c.InOrStdin(), c.OutOrStdout())
		},
	}
}
