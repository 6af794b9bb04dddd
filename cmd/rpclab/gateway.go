package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/gateway"
	"rpclab/internal/process"
	"rpclab/internal/process/stdio"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
	"rpclab/internal/suggest"
)

// gatewayFlags are the flags of `rpclab gateway`.
type gatewayFlags struct {
	listen            string
	access            accessFlags
	target            string
	route             string
	service, settings string // JSON
	model, mode       string
	channel           string
	seed              uint64
	supervised        bool
}

func gatewayCommand() *cobra.Command {
	var f gatewayFlags
	command := &cobra.Command{
		Use:   "gateway (--target HOST:PORT,… | --route NAME --service JSON)",
		Short: "Serve HTTP requests by making gRPC calls",
		Long: `Answers each HTTP request by making gRPC calls to 'rpclab server'. The paths are
those of two published studies, balancing and channels (docs/studies.md):

  GET /fibonacci/random?iterations=&output=true|false&fibo_start=&fibo_end=
  GET /fibonacci?n=
  GET /increment?iterations=
  GET /experiment/client?n=&type=Client (or ClientWithReuseConn,
                         ClientWithKubeResolver) makes n calls at once
  GET /?n=&type=         the same
  GET /metrics       for Prometheus
  POST /-/reset      resets grpc_requests_total to 0 for the next test`,
		Example: `  rpclab gateway --target 127.0.0.1:50051,127.0.0.2:50051
  curl 'http://127.0.0.1:8080/fibonacci/random?iterations=100&output=true'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("seed") {
				f.seed = rand.Uint64()
			}
			return runGateway(c, f)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "`address` to listen on; an address other than loopback needs --token-file or --public")
	f.access.register(flags)
	flags.StringVar(&f.target, "target", "", "`addresses` of servers, comma-separated, or a gRPC target URI")
	flags.StringVar(&f.route, "route", "", "`route` that calls take: "+strings.Join(route.Names(), ", "))
	flags.StringVar(&f.service, "service", "", "the service for --route, as `JSON` with the fields name, namespace, port, host, dns, api, vip, via (address of a proxy)")
	flags.StringVar(&f.settings, "settings", "{}", "settings of the route, as `JSON`")
	flags.StringVar(&f.model, "model", gateway.Threads, "concurrency `model`: one-thread (one request at a time), threads (all at once) or async (all at once, each over its own channel)")
	flags.StringVar(&f.channel, "channel", "", "`mode` of the channel: shared, per-request or own-connection; the last two differ only in Python (default: per-request for async, else shared)")
	flags.StringVar(&f.mode, "mode", "", "value of the `label` mode in grpc_requests_total (default: the route)")
	flags.Uint64Var(&f.seed, "seed", 0, "`seed` of the numbers of /fibonacci/random (default: random)")
	flags.BoolVar(&f.supervised, "supervised", false, "exit when standard input closes, and listen on any address without a token")
	_ = flags.MarkHidden("settings")
	_ = flags.MarkHidden("supervised")
	return command
}

func runGateway(c *cobra.Command, f gatewayFlags) error {
	if !slices.Contains(gateway.Models, f.model) {
		return usageError{fmt.Errorf("--model: no model %q%s", f.model, suggest.DidYouMean(f.model, gateway.Models))}
	}
	if modes := []string{"", caller.Shared, gateway.PerRequest, gateway.OwnConnection}; !slices.Contains(modes, f.channel) {
		return usageError{fmt.Errorf("--channel: no mode %q%s", f.channel, suggest.DidYouMean(f.channel, modes[1:]))}
	}
	if _, err := process.RaiseFileLimit(); err != nil {
		return err
	}
	options := gateway.Options{Model: f.model, Channel: f.channel, Mode: f.mode, Seed: f.seed}
	var err error
	f.access.public = f.access.public || f.supervised
	if options.Token, err = f.access.token("--listen", f.listen); err != nil {
		return err
	}
	if err := f.openTargets(c.Context(), &options); err != nil {
		return err
	}
	defer options.Target.Close()
	if options.Mode == "" {
		options.Mode = f.route
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --listen, or stop the program that uses this one", f.listen, err)
	}
	defer listener.Close()
	if f.model == gateway.OneThread {
		runtime.GOMAXPROCS(1)
	}
	g, err := gateway.New(options)
	if err != nil {
		return err
	}
	if f.supervised {
		go func() {
			_, _ = io.Copy(io.Discard, c.InOrStdin())
			os.Exit(exitLab)
		}()
		if err := stdio.Announce(c.OutOrStdout(), listener.Addr()); err != nil {
			return errors.Join(err, g.Close())
		}
	}
	fmt.Fprintf(c.ErrOrStderr(), "rpclab: gateway listening on http://%s\n", listener.Addr())
	return errors.Join(gateway.Serve(c.Context(), listener, g.Handler()), g.Close())
}

// openTargets sets where calls go, and how /experiment/client opens its routes.
func (f gatewayFlags) openTargets(ctx context.Context, o *gateway.Options) (err error) {
	switch {
	case f.target != "" && f.route == "" && f.service == "":
		if o.Target, err = gateway.Target(f.target, settings.RoundRobin); err != nil {
			return usageError{fmt.Errorf("--target: %w", err)}
		}
		// Like a cluster IP: each connection goes to one backend.
		o.ClusterIP = func() (caller.Target, error) { return gateway.Target(f.target, settings.PickFirst) }
		o.KubeResolver = func(route.UpdateFunc) (caller.Target, error) {
			return caller.Target{}, errors.New("this gateway has no EndpointSlice API: start it with --route and --service")
		}
		return nil
	case f.target != "" || f.route == "" || f.service == "":
		return usageError{errors.New("use either --target HOST:PORT,… or --route NAME with --service JSON")}
	}
	rt, err := route.Lookup(f.route)
	if err != nil {
		return usageError{fmt.Errorf("--route: %w", err)}
	}
	var service cluster.Service
	var set settings.Settings
	if err := json.Unmarshal([]byte(f.service), &service); err != nil {
		return usageError{fmt.Errorf("--service: %w", err)}
	}
	if err := json.Unmarshal([]byte(f.settings), &set); err != nil {
		return usageError{fmt.Errorf("--settings: %w", err)}
	}
	ignore := func(time.Time, []string) {}
	o.ClusterIP = func() (caller.Target, error) { return route.ClusterIP.Open(ctx, service, settings.Settings{}, ignore) }
	o.KubeResolver = func(updated route.UpdateFunc) (caller.Target, error) {
		if rt.Discovery != route.DiscoveryWatch {
			return caller.Target{}, fmt.Errorf("the route %s of this gateway has no watcher of endpoints: send the request to a gateway of the route %s or %s", rt.Name, route.KubeResolver.Name, route.EndpointSlice.Name)
		}
		return route.KubeResolver.Open(ctx, service, settings.Settings{}, updated)
	}
	o.Target, err = rt.Open(ctx, service, set, ignore)
	return err
}
