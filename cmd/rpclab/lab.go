package main

import (
	"fmt"
	"net/http"
	"strconv"

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
				answer, err := http.Post("http://127.0.0.1:"+strconv.Itoa(port+p.Offset)+"/-/reset", "", nil)
				if err != nil {
					continue // it is not running
				}
				if answer.Body.Close(); answer.StatusCode != http.StatusOK {
					return fmt.Errorf("route %s: what listens on port %d is no gateway: it answers %s", p.Route, port+p.Offset, answer.Status)
				}
				reset++
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
