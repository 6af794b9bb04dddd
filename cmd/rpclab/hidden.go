package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/agent"
	"rpclab/internal/cluster"
	"rpclab/internal/cluster/faultproxy"
	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/lab"
	"rpclab/internal/language"
	generator "rpclab/internal/load"
	"rpclab/internal/process"
	"rpclab/internal/process/netcut"
	"rpclab/internal/process/stdio"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/forward"
)

// callerCommand makes the calls of a trial.
func callerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "caller",
		Short:  "Make the calls of one trial (used by rpclab itself)",
		Args:   noArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return lab.ServeCaller(c.InOrStdin(), c.OutOrStdout())
		},
	}
}

// infrastructureCommand starts proxies, control planes and gateways in a
// pod.
func infrastructureCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "infrastructure",
		Short:  "Start the infrastructure of a route in its pod (used by rpclab itself)",
		Args:   noArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			self, err := thisProgram("the infrastructure")
			if err != nil {
				return err
			}
			return lab.ServeInfrastructure(c.Context(), c.InOrStdin(), c.OutOrStdout(), self)
		},
	}
}

// programCommand is the program of another language in an image.
func programCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "program LANGUAGE [ARGS…]",
		Short:              "Run the server, gateway or caller of a language (used by rpclab itself)",
		Args:               cobra.MinimumNArgs(1),
		Hidden:             true,
		DisableFlagParsing: true, // they are the program's
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := language.Lookup(args[0])
			if err != nil {
				return usageError{err}
			}
			command, err := l.Command(nil)
			if err != nil {
				return err
			}
			path, err := exec.LookPath(command[0])
			if err != nil {
				return err
			}
			return fmt.Errorf("run %s: %w", path, syscall.Exec(path, slices.Concat(command, args[1:]), os.Environ())) // keeps this process's ID and standard streams
		},
	}
}

// selfTestServerCommand serves the calls with which `rpclab load` measures itself.
func selfTestServerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    generator.SelfTestCommand,
		Short:  "Serve the self-test of a load (used by rpclab itself)",
		Args:   noArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return generator.ServeSelfTest(c.InOrStdin(), c.OutOrStdout())
		},
	}
}

// forwardCommand is the process of the route forwarder.
func forwardCommand() *cobra.Command {
	var listen string
	var public bool
	var service cluster.Service
	command := &cobra.Command{
		Use:    "forward",
		Short:  "Forward connections to a service's backends (used by rpclab itself)",
		Args:   noArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if !public {
				if _, err := listenToken("--listen", listen, "", "other machines could connect to the backends: add --public"); err != nil {
					return err
				}
			}
			ctx, cancel := context.WithCancel(c.Context())
			defer cancel()
			go func() {
				_, _ = io.Copy(io.Discard, c.InOrStdin())
				cancel() // the supervisor exited
			}()
			return runForward(ctx, c.OutOrStdout(), listen, service)
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:0", "`address` to listen on")
	flags.BoolVar(&public, "public", false, "forward connections of other machines")
	flags.StringVar(&service.API, "api", "", "`URL` of the EndpointSlice API")
	flags.StringVar(&service.Namespace, "namespace", "default", "`namespace` of the service")
	flags.StringVar(&service.Name, "service", "", "`name` of the service")
	return command
}

func runForward(ctx context.Context, stdout io.Writer, listen string, service cluster.Service) error {
	if _, err := process.RaiseFileLimit(); err != nil {
		return err
	}
	table := endpointslice.NewWatcher(service)
	defer table.Close()
	if _, err := table.Sync(ctx); err != nil {
		return fmt.Errorf("endpoints of %s: %w", service.Name, err)
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", listen, err)
	}
	if err := stdio.Announce(stdout, listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	forward.Serve(ctx, listener.(*net.TCPListener), table)
	return nil
}

// faultProxyCommand is the process before a backend of a user's service.
func faultProxyCommand() *cobra.Command {
	var listen, backend, ready string
	var secured bool
	command := &cobra.Command{
		Use:    "fault-proxy --backend ADDRESS",
		Short:  "Inject faults before one backend (used by rpclab itself)",
		Args:   noArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if ready == "" { // in a pod, the backend's network policy applies to the proxy
				if _, err := listenToken("--listen", listen, "", "other machines could connect to the backend: listen on 127.0.0.1"); err != nil {
					return err
				}
			}
			if _, err := process.RaiseFileLimit(); err != nil {
				return err
			}
			listener, err := netcut.Listen(c.Context(), listen)
			if err != nil {
				return fmt.Errorf("cannot listen on %s: %w", listen, err)
			}
			proxy, input := faultproxy.New(backend), bufio.NewReader(c.InOrStdin())
			if secured {
				if err := readProxyTLS(input, proxy); err != nil {
					return errors.Join(err, listener.Close())
				}
			}
			go func() {
				proxy.ServeCommands(input, c.OutOrStdout())
				os.Exit(exitLab) // the supervisor exited
			}()
			if err := stdio.Announce(c.OutOrStdout(), listener.Addr()); err != nil {
				return errors.Join(err, listener.Close())
			}
			serve := proxy.Serve
			if ready != "" {
				checks, err := net.Listen("tcp", ready)
				if err != nil {
					return errors.Join(fmt.Errorf("cannot listen on %s: %w", ready, err), listener.Close())
				}
				server := &http.Server{Handler: proxy.Readiness(), ReadHeaderTimeout: time.Second}
				go func() { _ = server.Serve(checks) }() // until this process exits
				serve = proxy.ServeInPod
			}
			serve(c.Context(), listener)
			proxy.WriteCount(c.OutOrStdout())
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:0", "`address` to listen on")
	flags.StringVar(&backend, "backend", "", "`address` of the backend")
	flags.StringVar(&ready, "ready", "", "`address` for readiness checks; the backend is a container of the same pod")
	flags.BoolVar(&secured, "tls", false, "encrypt connections; the first line of standard input is the configuration with the keys")
	_ = command.MarkFlagRequired("backend")
	return command
}

// readProxyTLS reads the first line of a fault proxy's input. Its keys appear in no message.
func readProxyTLS(input *bufio.Reader, proxy *faultproxy.Proxy) error {
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the configuration of TLS: %w", err)
	}
	var config faultproxy.TLS
	if json.Unmarshal(line, &config) != nil {
		return errors.New("the configuration of TLS is not JSON")
	}
	return proxy.UseTLS(config)
}

// agentCommand runs between the lab and a program in a pod.
func agentCommand() *cobra.Command {
	var listen, tokenFile string
	var observe int
	command := &cobra.Command{
		Use:   "agent [-- COMMAND ARGS…]",
		Short: "Run a program in a pod for the lab (used by rpclab itself)",
		Long: `Runs a program and connects it to the lab over gRPC: standard input and output,
signals, resource usage and exit status. With a command, the agent runs that
command and exits with its status. Without a command, the agent runs the programs
that the lab requests; the command rpclab means this binary. With --observe, it
only measures a program of another container.`,
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			return runAgent(c, listen, tokenFile, observe, args)
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:19000", "`address` to listen on; an address other than loopback needs --token-file")
	flags.StringVar(&tokenFile, "token-file", "", "`file` with the token that callers send")
	flags.IntVar(&observe, "observe", 0, "process `ID` of a program to measure, in a process namespace that both share")
	return command
}

func runAgent(c *cobra.Command, listen, tokenFile string, observe int, args []string) error {
	token, err := listenToken("--listen", listen, tokenFile, "other machines could run programs here: add --token-file")
	if err != nil {
		return err
	}
	self, err := thisProgram("programs")
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --listen, or stop the program that uses this one", listen, err)
	}
	a := agent.Agent{
		Command: args, Self: self[0], Token: token, Observe: observe,
		Stderr: c.ErrOrStderr(), Log: slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)),
	}
	status, err := a.Serve(c.Context(), listener)
	if err == nil && status != 0 {
		err = programStatus(status)
	}
	return err
}

// reapCommand watches over a run from within its cluster.
func reapCommand() *cobra.Command {
	var namespace string
	command := &cobra.Command{
		Use:   "reap --namespace NAME",
		Short: "Remove the namespace of a run whose owner died (used by rpclab itself)",
		Long: `Watches the lease of a run from within the cluster. Deletes the namespace of the
run when the owner has not renewed the lease in time.`,
		Args: noArgs, Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := kubernetes.Connect(c.Context(), kubernetes.ClientConfig{})
			if err != nil {
				return err
			}
			return api.Reap(c.Context(), namespace)
		},
	}
	command.Flags().StringVar(&namespace, "namespace", "", "`name` of the run's namespace")
	_ = command.MarkFlagRequired("namespace")
	return command
}
