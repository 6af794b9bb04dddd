package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/gateway/chain"
)

func labCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "lab",
		Short: "Stand a study up, to look at it",
		Args:  knownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(labUpCommand(), labResetCommand())
	return command
}

func labResetCommand() *cobra.Command {
	port := chain.Port
	command := &cobra.Command{
		Use:     "reset",
		Short:   "Set the counters of every running gateway to 0, for the next test",
		Example: `  rpclab lab reset`,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			reset := 0
			for _, p := range chain.Plans() {
				switch err := resetGateway(c.Context(), port+p.Offset); {
				case err == nil:
					reset++
				case !errors.Is(err, syscall.ECONNREFUSED): // which is one that is not running
					return fmt.Errorf("route %s: %w", p.Route, err)
				}
			}
			if reset == 0 {
				return fmt.Errorf("no gateway is running on port %d and those after it: start them by 'rpclab lab up balancing'", port)
			}
			fmt.Fprintf(c.ErrOrStderr(), "rpclab: the counters of %d gateways are 0 again\n", reset)
			return nil
		},
	}
	command.Flags().IntVar(&port, "port", chain.Port, "`port` of the first gateway")
	return command
}

// resetGateway sets the counters of the gateway on a port to 0.
func resetGateway(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:"+strconv.Itoa(port)+"/-/reset", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusOK {
		return fmt.Errorf("what listens on port %d is no gateway: it answers %s", port, answer.Status)
	}
	return nil
}
