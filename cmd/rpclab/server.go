package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/nearest"
	"rpclab/internal/process"
	"rpclab/internal/workload"
)

func serverCommand() *cobra.Command {
	var server workload.Server
	var listen, metrics string
	var supervised bool
	var secure secureFlags
	command := &cobra.Command{
		Use:   "server",
		Short: "Run one server under test",
		Long: `Serves rpclab.v1.Greeter, Fibonacci, Counter, Chain, OrderService and
CalculatorService with gRPC health and reflection, or over REST, until it is
told to stop (SIGTERM or SIGINT); then it drains.`,
		Example: `  rpclab server --listen 127.0.0.1:50051 --delay 500ms
  rpclab server --model rest
  curl -d '{"value": 1}' http://127.0.0.1:50051/increase`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := errors.Join(checkModel(c.Flags(), server.Model), secure.check(server.Model)); err != nil {
				return err
			}
			if _, err := process.MaxFiles(); err != nil {
				return err
			}
			parties, end, err := secure.prepare(&server)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, end()) }()
			// Probes of TCP's own on thousands of idle connections come at once, are lost, and end
			// connections that were well; HTTP/2 has PING.
			listener, err := (&net.ListenConfig{KeepAlive: -1}).Listen(c.Context(), "tcp", listen)
			if err != nil {
				return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --listen, or end what uses this one", listen, err)
			}
			if metrics != "" {
				if port, ok := strings.CutPrefix(metrics, ":"); ok {
					metrics = net.JoinHostPort(listener.Addr().(*net.TCPAddr).IP.String(), port)
				}
				if server.Metrics, err = net.Listen("tcp", metrics); err != nil {
					return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --metrics", metrics, err)
				}
			}
			server.Log = slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			if supervised {
				defer func() { server.Count(c.OutOrStdout()) }() // of all calls, now that they are answered
				// A supervisor that is gone ends this process, which no look at the parent
				// process could tell without a delay.
				go func() {
					server.Obey(c.InOrStdin(), c.OutOrStdout(), parties)
					os.Exit(exitLab)
				}()
			}
			return server.Serve(c.Context(), listener)
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:50051", "`address` to listen on")
	flags.StringVar(&metrics, "metrics", "", "`address` at which Prometheus finds /metrics; of :PORT, on the host of --listen (default: none)")
	flags.StringVar(&server.ID, "id", hostname(), "identity that every answer carries")
	flags.StringVar(&server.Model, "model", workload.GRPC, "grpc; rest: JSON over HTTP/1.1 and HTTP/2 in clear text; tcp: bare connections, which increase numbers")
	flags.DurationVar(&server.Delay, "delay", 0, "wait before every answer")
	flags.DurationVar(&server.Spread, "spread", 0, "wait up to this longer before an order is taken, at random")
	flags.IntVar(&server.Workers, "workers", 0, "calls that it works on at once, while others queue (default: all)")
	flags.DurationVar(&server.MaxAge, "max-age", 0, "after this, some 10 % more or less, a connection is told to go (default: never)")
	flags.DurationVar(&server.AgeGrace, "age-grace", 0, "how long its calls may go on then (default: as long as they take)")
	flags.BoolVar(&server.ReportLoad, "report-load", false, "say in every answer how busy it is (ORCA), for weighted_round_robin")
	secure.register(flags)
	flags.DurationVar(&server.Drain, "drain", 0, "how long it still accepts calls once told to stop")
	flags.BoolVar(&supervised, "supervised", false, "take orders on standard input, and end when it does")
	_ = flags.MarkHidden("supervised")
	return command
}

// checkModel refuses what a model has not.
func checkModel(flags *pflag.FlagSet, model string) error {
	if !slices.Contains(workload.Models, model) {
		return usage{fmt.Errorf("--model %s: there is no such model%s", model, nearest.Suggest(model, workload.Models))}
	}
	if model == workload.GRPC {
		return nil
	}
	for _, name := range []string{"metrics", "max-age", "age-grace", "report-load"} {
		if flags.Changed(name) {
			return usage{fmt.Errorf("--%s goes with --model %s alone", name, workload.GRPC)}
		}
	}
	return nil
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "server"
	}
	return name
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage{fmt.Errorf("%s takes no argument, but got %q\nSee '%s --help'", c.CommandPath(), args[0], c.CommandPath())}
	}
	return nil
}
