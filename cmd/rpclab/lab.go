package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/gateway/stack"
)

func labCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "lab",
		Short: "Start the servers of a published study, without an experiment",
		Args:  knownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(labUpCommand(), labResetCommand())
	return command
}

func labUpCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "up STUDY",
		Short: "Start the servers of a published study, until Ctrl-C",
		Long: `Starts the servers of one of the five published studies (docs/studies.md) on
this machine until Ctrl-C, on the study's ports and with its paths and messages,
and prints commands to try. With --on kubernetes the servers are pods, with
ports on every node.`,
		Example: `  rpclab lab up channels
  curl 'http://127.0.0.1:8080/?type=ClientWithReuseConn&n=1000'`,
		Args: func(c *cobra.Command, args []string) error { return known(c, "study", args) },
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(labBalancingCommand(), labChannelsCommand(), labChainCommand(), labStreamsCommand(), labLadderCommand())
	return command
}

func labResetCommand() *cobra.Command {
	port, host := stack.Port, "127.0.0.1"
	command := &cobra.Command{
		Use:   "reset",
		Short: "Reset grpc_requests_total of every running gateway to 0",
		Example: `  rpclab lab reset
  rpclab lab reset --host 172.18.0.2     a node of Kubernetes`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			count := 0
			for _, p := range stack.Plans() {
				switch err := resetGateway(c.Context(), net.JoinHostPort(host, strconv.Itoa(port+p.Offset))); {
				case err == nil:
					count++
				case !errors.Is(err, syscall.ECONNREFUSED): // refused: this gateway does not run
					return fmt.Errorf("route %s: %w", p.Route.Name, err)
				}
			}
			if count == 0 {
				return fmt.Errorf("no gateway is running at %s, port %d or the ports after it: start them with 'rpclab lab up balancing'", host, port)
			}
			fmt.Fprintf(c.ErrOrStderr(), "rpclab: reset grpc_requests_total of %d gateways\n", count)
			return nil
		},
	}
	command.Flags().IntVar(&port, "port", stack.Port, "`port` of the first gateway")
	command.Flags().StringVar(&host, "host", host, "`address` of the gateways: this machine or a node of Kubernetes")
	return command
}

// resetGateway sets the counters of the gateway at an address to 0.
func resetGateway(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/-/reset", nil)
	if err != nil {
		return err
	}
	direct := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a proxy of the environment is for other hosts
	response, err := direct.Do(request)
	if err != nil {
		return err
	}
	if response.Body.Close(); response.StatusCode != http.StatusOK {
		return fmt.Errorf("the program that listens on %s is no gateway: it responds %s", address, response.Status)
	}
	return nil
}
