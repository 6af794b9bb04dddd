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
	"rpclab/internal/nearest"
	"rpclab/internal/process"
	"rpclab/internal/route"
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
)

// gatewayFlags are what `rpclab gateway` can be told.
type gatewayFlags struct {
	listen, tokenFile string
	target            string
	route             string
	service, settings string // JSON
	model, mode       string
	channel           string
	seed              uint64
	supervised, open  bool
}

func gatewayCommand() *cobra.Command {
	var f gatewayFlags
	command := &cobra.Command{
		Use:   "gateway (--target HOST:PORT,… | --route NAME --service JSON)",
		Short: "Make gRPC calls for HTTP requests, as in studies 1 and 2",
		Long: `Answers HTTP requests by gRPC calls to 'rpclab server', one after the other:

  GET /fibonacci/random?iterations=&output=true|false&fibo_start=&fibo_end=
  GET /fibonacci?n=
  GET /increment?iterations=
  GET /experiment/client?n=&type=Client (or ClientWithReuseConn,
                         ClientWithKubeResolver): n calls at once
  GET /metrics       for Prometheus
  POST /-/reset      sets the counters of calls to 0, for the next test`,
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
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "`address` to listen on; one that is not loopback needs a token, or --open")
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with the token that requests have to bear (Authorization: Bearer …)")
	flags.BoolVar(&f.open, "open", false, "answer everybody without a token, where a network decides who comes")
	flags.StringVar(&f.target, "target", "", "`addresses` of servers, comma-separated, or a URI that gRPC knows")
	flags.StringVar(&f.route, "route", "", "`route` that calls take: "+strings.Join(route.Names(), ", "))
	flags.StringVar(&f.service, "service", "", "where the service of --route is published, in `JSON`: name, namespace, port, host, dns, api, vip, via")
	flags.StringVar(&f.settings, "settings", "{}", "of the route, in `JSON`")
	flags.StringVar(&f.model, "model", gateway.Threads, "one-thread: one request at a time; threads: as many as come; async: the same, each over a channel of its own")
	flags.StringVar(&f.channel, "channel", "", "shared by all requests, or per-request (default: per-request of async, else shared)")
	flags.StringVar(&f.mode, "mode", "", "`label` of grpc_requests_total (default: the route)")
	flags.Uint64Var(&f.seed, "seed", 0, "of the numbers of /fibonacci/random (default: drawn)")
	flags.BoolVar(&f.supervised, "supervised", false, "end when standard input does, and listen anywhere: who started it sees to who may call")
	_ = flags.MarkHidden("settings")
	_ = flags.MarkHidden("supervised")
	return command
}

func runGateway(c *cobra.Command, f gatewayFlags) error {
	if !slices.Contains(gateway.Models, f.model) {
		return usage{fmt.Errorf("--model %s: there is no such model%s", f.model, nearest.Suggest(f.model, gateway.Models))}
	}
	if ways := []string{"", caller.Shared, gateway.PerRequest}; !slices.Contains(ways, f.channel) {
		return usage{fmt.Errorf("--channel %s: there is no such way%s", f.channel, nearest.Suggest(f.channel, ways[1:]))}
	}
	if _, err := process.MaxFiles(); err != nil {
		return err
	}
	options := gateway.Options{Model: f.model, Channel: f.channel, Mode: f.mode, Seed: f.seed}
	var err error
	if options.Token, err = f.token(); err != nil {
		return usage{err}
	}
	if options.Target, options.Open, err = f.ways(c.Context()); err != nil {
		return err
	}
	defer options.Target.Close()
	if options.Mode == "" {
		options.Mode = f.route
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --listen, or end what uses this one", f.listen, err)
	}
	defer listener.Close()
	if at := listener.Addr().(*net.TCPAddr); !at.IP.IsLoopback() && options.Token == "" && !f.supervised && !f.open {
		return usage{fmt.Errorf("--listen %s is open to others: give a token by --token-file, let everybody in by --open, or listen on 127.0.0.1", f.listen)}
	}
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
		if err := part.Say(c.OutOrStdout(), listener.Addr()); err != nil {
			return errors.Join(err, g.Close())
		}
	}
	fmt.Fprintf(c.ErrOrStderr(), "rpclab: gateway on http://%s\n", listener.Addr())
	return errors.Join(gateway.Serve(c.Context(), listener, g.Handler()), g.Close())
}

func (f gatewayFlags) token() (string, error) {
	if f.tokenFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("--token-file %s: there is no token in it", f.tokenFile)
	}
	return token, nil
}

// ways are where calls go: those of study 1, and by route those of study 2.
func (f gatewayFlags) ways(ctx context.Context) (target caller.Target, open func(string) (caller.Target, error), err error) {
	switch {
	case f.target != "" && f.route == "" && f.service == "":
		target, err := gateway.Target(f.target, settings.RoundRobin)
		if err != nil {
			return target, nil, usage{fmt.Errorf("--target: %w", err)}
		}
		return target, func(way string) (caller.Target, error) {
			if way == "kuberesolver" {
				return target, errors.New("this gateway knows addresses and no EndpointSlice API: start it with --route and --service")
			}
			return gateway.Target(f.target, settings.PickFirst) // as a cluster IP: a connection goes to one of them
		}, nil
	case f.target != "" || f.route == "" || f.service == "":
		return target, nil, usage{errors.New("say where calls go: --target HOST:PORT,… or --route NAME with --service JSON")}
	}
	way, err := route.Lookup(f.route)
	if err != nil {
		return target, nil, usage{fmt.Errorf("--route: %w", err)}
	}
	var service cluster.Service
	var set settings.Settings
	if err := json.Unmarshal([]byte(f.service), &service); err != nil {
		return target, nil, usage{fmt.Errorf("--service: %w", err)}
	}
	if err := json.Unmarshal([]byte(f.settings), &set); err != nil {
		return target, nil, usage{fmt.Errorf("--settings: %w", err)}
	}
	told := func(time.Time, []string) {}
	if target, err = way.Open(ctx, service, set, told); err != nil {
		return target, nil, err
	}
	return target, func(name string) (caller.Target, error) {
		way, err := route.Lookup(name)
		if err != nil {
			return caller.Target{}, err
		}
		return way.Open(ctx, service, settings.Settings{}, told)
	}, nil
}
