package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/internal/nearest"
	"rpclab/internal/route/controlplane"
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
)

func xdsCommand() *cobra.Command {
	var plane controlplane.Server
	var endpoints, namespace, listen, bootstrap, tokenFile, ways string
	var supervised bool
	command := &cobra.Command{
		Use:   "xds",
		Short: "Run an xDS control plane for gRPC clients and Envoy",
		Long: `Says by xDS (LDS, RDS, CDS and EDS on one aggregated stream, state of the world
or delta) where the backends of a service are and how to spread calls over them.
gRPC clients dial xds:///SERVICE with the bootstrap that --bootstrap writes;
Envoy takes the cluster of that name by ADS. It serves until it is told to stop;
clients then keep what they know.

Endpoints are an address list, a YAML file that is read again when it changes
(a list of addresses, or of {address, zone}), or the EndpointSlice API, of a
Kubernetes cluster too: kubectl proxy gives its address, and in a pod it may be
https, asked as the pod's service account. Backends outside zone-0
are called when none in zone-0 answers.`,
		Example: `  rpclab xds --endpoints 127.0.0.1:50051,127.0.0.1:50052 --bootstrap b.json
  GRPC_XDS_BOOTSTRAP=b.json ./client xds:///greeter

  kubectl proxy --port 8001 &
  rpclab xds --endpoints http://127.0.0.1:8001 --policy least_request`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if endpoints == "" {
				return usage{errors.New("where are the backends? Say it with --endpoints IP:PORT,…, FILE.yaml or http://API\nSee 'rpclab xds --help'")}
			}
			if !slices.Contains(controlplane.Policies, plane.Settings.Policy) {
				return usage{fmt.Errorf("no policy %q%s", plane.Settings.Policy, nearest.Suggest(plane.Settings.Policy, controlplane.Policies))}
			}
			if bootstrap != "" && tokenFile != "" {
				return usage{errors.New("--bootstrap is for gRPC clients, which cannot send the token of --token-file: leave one of them out")}
			}
			if ways != "" {
				if err := json.Unmarshal([]byte(ways), &plane.Settings); err != nil {
					return usage{fmt.Errorf("--settings: %w", err)}
				}
			}
			var err error
			if !supervised || tokenFile != "" {
				plane.Token, err = token(listen, tokenFile, "others could read where backends are")
			}
			if err != nil {
				return err
			}
			if plane.Source, err = controlplane.From(endpoints, plane.Service, namespace); err != nil {
				return usage{err}
			}
			listener, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --listen, or end what uses this one", listen, err)
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
					os.Exit(exitLab) // the supervisor is gone
				}()
				plane.Serving = func() { _ = part.Say(c.OutOrStdout(), listener.Addr()) } // who does not hear it is gone
			}
			return plane.Serve(c.Context(), listener)
		},
	}
	flags := command.Flags()
	flags.StringVar(&endpoints, "endpoints", "", "`where` backends are: IP:PORT,…, FILE.yaml or http://API")
	flags.StringVar(&plane.Service, "service", "greeter", "`name` that clients ask for, and of the slices")
	flags.StringVar(&namespace, "namespace", "default", "`namespace` of the slices")
	flags.StringVar(&listen, "listen", "127.0.0.1:18000", "`address` to listen on; another than loopback needs --token-file")
	flags.StringVar(&plane.Settings.Policy, "policy", settings.RoundRobin, "`how` to spread calls: "+strings.Join(controlplane.Policies, ", "))
	flags.StringVar(&bootstrap, "bootstrap", "", "write the bootstrap of gRPC clients to this `file`")
	flags.StringVar(&tokenFile, "token-file", "", "`file` with the token that clients send: authorization: Bearer TOKEN (Envoy can, by initial_metadata; gRPC clients cannot)")
	flags.StringVar(&ways, "settings", "", "all settings, as JSON")
	flags.BoolVar(&supervised, "supervised", false, "end when standard input does, and do without a token: who started it sees to who may ask")
	_ = flags.MarkHidden("settings")
	_ = flags.MarkHidden("supervised")
	return command
}

// token is that of the file. Only a loopback address does without: of another, why says
// what others could do.
func token(listen, file, why string) (string, error) {
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", usage{fmt.Errorf("--token-file: %w", err)}
		}
		if given := strings.TrimSpace(string(text)); given != "" {
			return given, nil
		}
		return "", usage{fmt.Errorf("--token-file: %s is empty: write a token to it, such as that of openssl rand -hex 32", file)}
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return "", usage{fmt.Errorf("--listen: %w", err)}
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return "", usage{fmt.Errorf("--listen %s: %s, so that wants --token-file; or listen on 127.0.0.1", listen, why)}
	}
	return "", nil
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
