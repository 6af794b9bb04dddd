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

	"rpclab/internal/process"
	"rpclab/internal/process/netcut"
	"rpclab/internal/security"
	"rpclab/internal/suggest"
	"rpclab/internal/workload"
)

func serverCommand() *cobra.Command {
	var server workload.Server
	var listen, metrics, ready string
	var supervised bool
	var secure securityFlags
	var access accessFlags
	command := &cobra.Command{
		Use:   "server",
		Short: "Run one server under test",
		Long: `Serves rpclab.v1.Greeter, Fibonacci, Counter, Chain, OrderService and
CalculatorService over gRPC, with health checks and reflection, or over REST.
SIGTERM or SIGINT stops the server after it has drained its connections.`,
		Example: `  rpclab server --listen 127.0.0.1:50051 --delay 500ms
  rpclab server --model rest
  curl -d '{"value": 1}' http://127.0.0.1:50051/increase`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := errors.Join(checkNotNegative(c.Flags()), checkModel(c.Flags(), server.Model), secure.check(server.Model), checkToken(access, server.Model, secure)); err != nil {
				return err
			}
			access.public = access.public || supervised // the supervisor controls access
			if server.Token, err = access.token("--listen", listen); err != nil {
				return err
			}
			if metrics != "" && !strings.HasPrefix(metrics, ":") {
				if _, err := access.token("--metrics", metrics); err != nil {
					return err
				}
			}
			if _, err := process.RaiseFileLimit(); err != nil {
				return err
			}
			secure.NoAudience = server.Published // the published client's tokens have none
			configs, cleanup, err := secure.prepare(&server)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, cleanup()) }()
			listener, err := netcut.Listen(c.Context(), listen)
			if err != nil {
				return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --listen, or stop the program that uses this one", listen, err)
			}
			if metrics != "" {
				if port, ok := strings.CutPrefix(metrics, ":"); ok {
					metrics = net.JoinHostPort(listener.Addr().(*net.TCPAddr).IP.String(), port)
				}
				if server.Metrics, err = net.Listen("tcp", metrics); err != nil {
					return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --metrics", metrics, err)
				}
			}
			if ready != "" {
				if server.Ready, err = net.Listen("tcp", ready); err != nil {
					return fmt.Errorf("cannot listen on %s: %w", ready, err)
				}
			}
			server.Log = slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			if supervised {
				defer func() { server.WriteCount(c.OutOrStdout()) }() // after the last call is answered
				// The end of standard input means that the supervisor exited. Polling the parent
				// process would notice later.
				go func() {
					server.ServeCommands(c.InOrStdin(), c.OutOrStdout(), configs)
					os.Exit(exitLab)
				}()
			}
			return server.Serve(c.Context(), listener)
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:50051", "`address` to listen on; an address other than loopback needs --token-file or --public")
	flags.StringVar(&metrics, "metrics", "", "`address` that serves /metrics to Prometheus; :PORT uses the host of --listen (default: no metrics)")
	flags.StringVar(&server.ID, "id", hostname(), "`name` of this backend, which every response carries")
	flags.StringVar(&server.Model, "model", workload.GRPC, "`protocol`: grpc; rest (JSON over HTTP/1.1 and cleartext HTTP/2); tcp (a bare connection that increments numbers)")
	flags.DurationVar(&server.Delay, "delay", 0, "delay before every response of Greeter and OrderService")
	flags.DurationVar(&server.Spread, "spread", 0, "random extra delay before an order is accepted, at most this long")
	flags.IntVar(&server.Workers, "workers", 0, "calls that the server handles at once; others queue (default: no limit)")
	flags.DurationVar(&server.MaxAge, "max-age", 0, "age at which the server closes a connection, 10 % more or less (default: never)")
	flags.DurationVar(&server.AgeGrace, "age-grace", 0, "time that the calls of a closed connection have to finish (default: no limit)")
	flags.StringVar(&server.API, "api", workload.V1, "`version` of the API of Chain: v1; v2 (another package or path: calls of clients of v1 fail); both; changed (v1 with a renumbered or, in REST, renamed field)")
	flags.BoolVar(&server.Published, "published", false, "serve the published studies' own packages, paths and messages too")
	flags.BoolVar(&server.ReportLoad, "report-load", false, "report the load of the server in every response (ORCA), for weighted_round_robin")
	access.register(flags)
	secure.register(flags)
	flags.DurationVar(&server.Drain, "drain", 0, "time that a stopping server still accepts calls")
	flags.BoolVar(&supervised, "supervised", false, "read commands on standard input, and exit when it closes")
	_ = flags.MarkHidden("supervised")
	flags.StringVar(&ready, "ready", "", "`address` for readiness checks over HTTP")
	_ = flags.MarkHidden("ready")
	return command
}

// checkNotNegative returns an error for numbers and durations below 0.
func checkNotNegative(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Value.String(), "-") && slices.Contains([]string{"int", "duration"}, f.Value.Type()) {
			err = errors.Join(err, usageError{fmt.Errorf("--%s %s: use 0 or more", f.Name, f.Value)})
		}
	})
	return err
}

// checkModel returns an error for flags that the model does not support.
func checkModel(flags *pflag.FlagSet, model string) error {
	if !slices.Contains(workload.Models, model) {
		return usageError{fmt.Errorf("--model: no model %q%s", model, suggest.DidYouMean(model, workload.Models))}
	}
	if api := flags.Lookup("api").Value.String(); !slices.Contains(workload.APIs, api) {
		return usageError{fmt.Errorf("--api: no version %q%s", api, suggest.DidYouMean(api, workload.APIs))}
	}
	if model == workload.GRPC {
		return nil
	}
	if model == workload.TCP {
		for _, name := range []string{"api", "delay", "spread"} {
			if flags.Changed(name) {
				return usageError{fmt.Errorf("--%s: --model %s only increments numbers: use --model grpc or rest", name, model)}
			}
		}
	}
	for _, name := range []string{"metrics", "max-age", "age-grace", "report-load"} {
		if flags.Changed(name) {
			return usageError{fmt.Errorf("--%s needs --model %s", name, workload.GRPC)}
		}
	}
	return nil
}

// checkToken returns an error if the server cannot check a token.
func checkToken(access accessFlags, model string, secure securityFlags) error {
	switch {
	case access.tokenFile == "":
		return nil
	case model == workload.TCP:
		return usageError{fmt.Errorf("--token-file: a server of --model %s cannot check tokens: leave the flag out, and listen on 127.0.0.1 or add --public", model)}
	case secure.Tokens:
		return usageError{errors.New("--token-file and --jwt use the same header: use one of them")}
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

// securityFlags configure the security of the CalculatorService.
type securityFlags struct {
	security.Policy
	keys       string
	supervised bool // the supervisor sends the policy and the keys
}

func (f *securityFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Transport, "security", security.Plain, "`mode` of connections: none, tls or mtls (clients present a certificate too); health checks stay in cleartext")
	flags.BoolVar(&f.Tokens, "jwt", false, "require a token (RS256) for calculations")
	flags.BoolVar(&f.Signing, "signing", false, "require signed calculations and sign their responses (CMS)")
	flags.StringVar(&f.keys, "keys", "", "`file` to write the keys that clients need; the server removes it when it exits")
	flags.BoolVar(&f.supervised, "secured", false, "wait for keys from the supervisor before serving")
	_ = flags.MarkHidden("secured")
}

func (f securityFlags) check(model string) error {
	switch err := f.Check(); {
	case err != nil:
		return usageError{fmt.Errorf("--security: %w", err)}
	case (f.Required() || f.keys != "") && model != workload.GRPC:
		return usageError{fmt.Errorf("--security, --jwt, --signing and --keys need --model %s", workload.GRPC)}
	case f.Required() != (f.keys != ""):
		return usageError{errors.New("--keys writes the keys that clients need: use it together with --security, --jwt or --signing")}
	}
	return nil
}

// prepare creates the keys of the server, or leaves them to its supervisor. The caller calls
// cleanup at the end, which removes the key file.
func (f securityFlags) prepare(server *workload.Server) (configs chan<- security.Config, cleanup func() error, err error) {
	cleanup = func() error { return nil }
	if !f.supervised && !f.Required() {
		return nil, cleanup, nil
	}
	ready := make(chan security.Config, 1)
	server.Security = ready
	if f.supervised {
		return ready, cleanup, nil
	}
	authority, err := security.NewAuthority()
	if err != nil {
		return nil, cleanup, err
	}
	keys, err := authority.Server()
	if err != nil {
		return nil, cleanup, err
	}
	if err := authority.Save(f.keys, f.Policy); err != nil {
		return nil, cleanup, fmt.Errorf("%w\nChoose another file with --keys, or remove this file", err)
	}
	ready <- security.Config{Policy: f.Policy, Keys: keys}
	return nil, func() error { return os.Remove(f.keys) }, nil
}
