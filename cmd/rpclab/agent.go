package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"

	"rpclab/internal/agent"
)

// agentCommand stands before a program in a pod. People never run it.
func agentCommand() *cobra.Command {
	var listen, tokenFile string
	command := &cobra.Command{
		Use:   "agent [-- COMMAND ARGS…]",
		Short: "Give the lab a program in a pod (used by rpclab itself)",
		Long: `Stands before a program and gives the lab, over gRPC, its standard input and
output, signals, what it used and how it ended. With a command it starts that and
ends as that does; without one it starts what it is told to. rpclab as a command
is this program.`,
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			return runAgent(c, listen, tokenFile, args)
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:19000", "`address` to listen on; another than loopback needs --token-file")
	flags.StringVar(&tokenFile, "token-file", "", "`file` with the token that callers bear")
	return command
}

func runAgent(c *cobra.Command, listen, tokenFile string, args []string) error {
	token, err := token(listen, tokenFile, "others could run programs here")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, to start others from it: %w", err)
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --listen, or end what uses this one", listen, err)
	}
	a := agent.Agent{
		Command: args, Self: self, Token: token,
		Stderr: c.ErrOrStderr(), Log: slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)),
	}
	status, err := a.Serve(c.Context(), listener)
	if err == nil && status != 0 {
		err = ended(status)
	}
	return err
}

// ended is the status of a program that this one stood for.
type ended int

func (e ended) Error() string { return fmt.Sprintf("its program ended with status %d", int(e)) }
