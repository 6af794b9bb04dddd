package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/route/forward"
	"rpclab/internal/route/part"
	"rpclab/internal/route/slicewatch"
)

// forwardCommand is the process of the route forwarder. People never run it.
func forwardCommand() *cobra.Command {
	var listen string
	var service cluster.Service
	command := &cobra.Command{
		Use:    "forward",
		Short:  "Forward connections to a service's backends (used by rpclab itself)",
		Args:   noArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithCancel(c.Context())
			defer cancel()
			go func() {
				_, _ = io.Copy(io.Discard, c.InOrStdin())
				cancel() // the supervisor is gone
			}()
			return runForward(ctx, c.OutOrStdout(), listen, service)
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:0", "`address` to listen on")
	flags.StringVar(&service.API, "api", "", "`URL` of the EndpointSlice API")
	flags.StringVar(&service.Namespace, "namespace", "default", "of the service")
	flags.StringVar(&service.Name, "service", "", "whose backends connections go to")
	return command
}

func runForward(ctx context.Context, stdout io.Writer, listen string, service cluster.Service) error {
	if _, err := process.MaxFiles(); err != nil {
		return err
	}
	table := slicewatch.Follow(service)
	defer table.Close()
	if _, err := table.Sync(ctx); err != nil {
		return fmt.Errorf("endpoints of %s: %w", service.Name, err)
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", listen, err)
	}
	if err := part.Say(stdout, listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	forward.Serve(ctx, listener.(*net.TCPListener), table)
	return nil
}
