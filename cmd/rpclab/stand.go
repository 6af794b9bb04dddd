package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"rpclab/internal/lab"
)

// standCommand is the process below which proxies, control planes and gateways stand in a
// pod. People never run it.
func standCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "stand",
		Short:  "Stand a route up where it runs (used by rpclab itself)",
		Args:   noArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program, to start parts of routes from it: %w", err)
			}
			return lab.Stand(c.Context(), c.InOrStdin(), c.OutOrStdout(), []string{self})
		},
	}
}
