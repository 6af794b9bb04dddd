package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/internal/process/stdio"
	"rpclab/internal/route/controlplane"
	"rpclab/internal/route/settings"
	"rpclab/internal/suggest"
)

func xdsCommand() *cobra.Command {
	var plane controlplane.Server
	var endpoints, namespace, listen, bootstrap, tokenFile, settingsJSON string
	var supervised bool
	command := &cobra.Command{
		Use:   "xds",
		Short: "Run an xDS control plane for gRPC clients and Envoy",
		Long: `Serves the endpoints and the load balancing policy of one service over xDS (LDS,
RDS, CDS and EDS on one aggregated stream, state of the world or delta). gRPC
clients dial xds:///SERVICE with the bootstrap file that --bootstrap writes.
Envoy fetches the cluster of that name over ADS. When the control plane stops,
clients keep their last configuration.

Endpoints come from an address list, a YAML file that is read again when it
changes (a list of addresses, or of {address, zone}), or the EndpointSlice API.
Outside a Kubernetes cluster, kubectl proxy serves that API; in a pod, an https
address uses the pod's service account. Clients call backends outside zone-0
only when no backend in zone-0 is available.`,
		Example: `  rpclab xds --endpoints 127.0.0.1:50051,127.0.0.1:50052 --bootstrap b.json
  GRPC_XDS_BOOTSTRAP=b.json ./client xds:///greeter

  kubectl proxy --port 8001 &
  rpclab xds --endpoints http://127.0.0.1:8001 --policy least_request`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if endpoints == "" {
				return usageError{errors.New("--endpoints is missing: use IP:PORT,…, FILE.yaml or http://API\nSee 'rpclab xds --help'")}
			}
			if !slices.Contains(controlplane.Policies, plane.Settings.Policy) {
				return usageError{fmt.Errorf("no policy %q%s", plane.Settings.Policy, suggest.DidYouMean(plane.Settings.Policy, controlplane.Policies))}
			}
			if bootstrap != "" && tokenFile != "" {
				return usageError{errors.New("--bootstrap configures gRPC clients, which cannot send the token of --token-file: leave one of the flags out")}
			}
			if settingsJSON != "" {
				if err := json.Unmarshal([]byte(settingsJSON), &plane.Settings); err != nil {
					return usageError{fmt.Errorf("--settings: %w", err)}
				}
			}
			var err error
			if !supervised || tokenFile != "" {
				plane.Token, err = listenToken("--listen", listen, tokenFile, "other machines could read the endpoints: add --token-file")
			}
			if err != nil {
				return err
			}
			if plane.Source, err = controlplane.ParseSource(endpoints, plane.Service, namespace); err != nil {
				return usageError{err}
			}
			listener, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --listen, or stop the program that uses this one", listen, err)
			}
			if bootstrap != "" {
				if err := writeBootstrap(bootstrap, listener.Addr().String()); err != nil {
					return errors.Join(err, listener.Close())
				}
			}
			plane.Log = slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			if supervised {
				go func() {
					_, _ = io.Copy(io.Discard, c.InOrStdin())
					os.Exit(exitLab) // the supervisor exited
				}()
				plane.Serving = func() { _ = stdio.Announce(c.OutOrStdout(), listener.Addr()) } // an error means that the supervisor exited
			}
			return plane.Serve(c.Context(), listener)
		},
	}
	flags := command.Flags()
	flags.StringVar(&endpoints, "endpoints", "", "`source` of the endpoints: IP:PORT,…, FILE.yaml or http://API")
	flags.StringVar(&plane.Service, "service", "greeter", "`name` of the service, which clients dial")
	flags.StringVar(&namespace, "namespace", "default", "`namespace` of the EndpointSlices")
	flags.StringVar(&listen, "listen", "127.0.0.1:18000", "`address` to listen on; an address other than loopback needs --token-file")
	flags.StringVar(&plane.Settings.Policy, "policy", settings.RoundRobin, "load balancing `policy`: "+strings.Join(controlplane.Policies, ", "))
	flags.StringVar(&bootstrap, "bootstrap", "", "write the bootstrap of gRPC clients to `file`")
	flags.StringVar(&tokenFile, "token-file", "", "`file` with the token that clients send as authorization: Bearer TOKEN (Envoy can, with initial_metadata; gRPC clients cannot)")
	flags.StringVar(&settingsJSON, "settings", "", "all settings, as JSON")
	flags.BoolVar(&supervised, "supervised", false, "exit when standard input closes; no token needed, the supervisor controls access")
	_ = flags.MarkHidden("settings")
	_ = flags.MarkHidden("supervised")
	return command
}

func writeBootstrap(file, address string) error {
	text, err := controlplane.Bootstrap(address, hostname())
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("--bootstrap: %w", err)
	}
	return nil
}
