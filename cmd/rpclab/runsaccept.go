package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rpclab/internal/result"
)

func acceptCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "accept RUN",
		Short: "Let gates compare with a run that failed",
		Long: `Accepts a run of which an assertion or gate failed. 'rpclab run --gate' compares
with the last run that did not fail, so after a slowdown every run fails until
the service is faster, or until you accept a slow run.`,
		Example: "  rpclab runs accept latest",
		Args:    exactly(1, "run"),
		RunE: withStore(result.OpenStore, func(c *cobra.Command, store *result.Store, refs []string) error {
			id, err := store.Accept(c.Context(), refs[0])
			if errors.Is(err, result.ErrUnknownRun) || errors.Is(err, result.ErrNotFailed) {
				return usageError{err}
			}
			if err == nil {
				fmt.Fprintf(c.OutOrStdout(), "accepted %s\n", id)
			}
			return err
		}),
	}
}
