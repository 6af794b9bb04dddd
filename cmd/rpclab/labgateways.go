package main

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/internal/gateway"
	"rpclab/internal/gateway/stack"
	"rpclab/internal/language"
	"rpclab/internal/route"
	"rpclab/internal/suggest"
)

// labBalancingFlags are the flags of `rpclab lab up balancing`.
type labBalancingFlags struct {
	stack.Options
	labFlags
	routes   []string
	targets  string
	language string
	workers  int
}

func labBalancingCommand() *cobra.Command {
	var f labBalancingFlags
	command := &cobra.Command{
		Use:   "balancing",
		Short: "Start a gateway and 3 servers for every route",
		Long: `Starts the servers of the published comparison of load balancing (see
docs/studies.md) on this machine until Ctrl-C: for every route a gateway, the
proxies of the route, and its own servers. The gateway of clusterip is on port
30612, that of headless on 30613 and that of the mesh (envoy) on 30614, as in
the study. The command prints a table of all gateways.

With --on kubernetes they are pods in a namespace of their own, the three
gateways have these ports on every node, and Ctrl-C deletes the namespace.

The pods of the study had the processors of their nodes. On one machine all
servers share its processors, so a route that overloads one server is slow only
with a limit for each server: --cpus 0.2.

The scenarios of the study, with --language python as published:
  1  --workers 1 --model one-thread
  2  (the default)
  3  --workers 1
  4  --model one-thread
  5  --model async`,
		Example: `  rpclab lab up balancing
  seq 1 50 | xargs -I{} -P20 \
    curl 'http://127.0.0.1:30613/fibonacci/random?iterations=100'
  rpclab lab reset
  rpclab lab up balancing --language python --workers 1 --model one-thread
  rpclab lab up balancing --on kubernetes --language python --model async`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return labBalancing(c, f) },
	}
	flags := command.Flags()
	f.register(flags)
	flags.StringSliceVar(&f.routes, "routes", nil, "start only these routes, comma-separated (default: all; on kubernetes those of the study)")
	flags.IntVar(&f.Port, "port", stack.Port, "`port` of the first gateway; the other gateways use ports after it")
	flags.IntVar(&f.Replicas, "replicas", 3, "number of servers of each route")
	flags.StringVar(&f.Model, "model", gateway.Threads, "`model` of the gateways, and of servers in Python: "+strings.Join(gateway.Models, ", "))
	flags.StringVar(&f.language, "language", language.Go, "`language` of gateways and servers: go or python")
	flags.IntVar(&f.workers, "workers", 5, "calls that a server handles at once; others queue")
	flags.Float64Var(&f.CPUs, "cpus", 0, "processors of each server; 0: no limit")
	flags.StringVar(&f.targets, "targets", "", "write the targets for Prometheus to `file` (file_sd_configs)")
	return command
}

func labBalancing(c *cobra.Command, f labBalancingFlags) error {
	plans, err := f.plans(c)
	if err != nil {
		return usageError{err}
	}
	if f.targets != "" {
		if err := stack.CheckTargets(f.targets); err != nil {
			return usageError{fmt.Errorf("--targets: %w\nChoose another file with --targets, or remove this file", err)}
		}
	}
	l, err := language.Lookup(f.language)
	if err != nil {
		return err
	}
	f.RuntimeEnv = l.LimitEnv(f.CPUs, 0)
	f.ServerArgs = []string{"--workers", strconv.Itoa(f.workers)}
	if f.language == python {
		model := "grpc-sync"
		if f.Model == gateway.Async {
			model = "grpc-aio"
		}
		f.ServerArgs = append(f.ServerArgs, "--model", model)
	}
	return runGateways(c, gatewayLab{
		Options: f.Options, flags: f.labFlags, language: f.language, plans: plans, targets: f.targets, paths: []string{"/fibonacci/random?iterations=100"},
		remedy: func(p stack.Plan) string { return routesWithout(p, plans) },
	})
}

// python is the language of the study.
const python = "python"

// plans are the plans of the requested routes.
func (f labBalancingFlags) plans(c *cobra.Command) ([]stack.Plan, error) {
	all := stack.Plans()
	if languages := []string{language.Go, python}; !slices.Contains(languages, f.language) {
		return nil, fmt.Errorf("--language: no language %q%s", f.language, suggest.DidYouMean(f.language, languages))
	}
	if f.language != language.Go {
		all = slices.DeleteFunc(all, func(p stack.Plan) bool { return p.Route.GoOnly })
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Route.Name)
	}
	for _, name := range f.routes {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--routes: no route %q%s", name, suggest.DidYouMean(name, names))
		}
	}
	if !slices.Contains(gateway.Models, f.Model) {
		return nil, fmt.Errorf("--model: no model %q%s", f.Model, suggest.DidYouMean(f.Model, gateway.Models))
	}
	if f.Replicas < 1 || f.Replicas > 100 {
		return nil, fmt.Errorf("--replicas %d: use 1 to 100", f.Replicas)
	}
	if f.workers < 1 || f.workers > 1000 {
		return nil, fmt.Errorf("--workers %d: use 1 to 1000", f.workers)
	}
	if f.CPUs < 0 {
		return nil, fmt.Errorf("--cpus %g: use 0 or more", f.CPUs)
	}
	if err := errors.Join(f.check(c), checkPort("--port", f.Port)); err != nil {
		return nil, err
	}
	switch {
	case len(f.routes) == 0 && f.remote():
		f.routes = []string{route.ClusterIP.Name, route.Headless.Name, route.Envoy.Name}
	case len(f.routes) == 0:
		return all, nil
	}
	return slices.DeleteFunc(all, func(p stack.Plan) bool { return !slices.Contains(f.routes, p.Route.Name) }), nil
}

// routesWithout suggests the flag that leaves a route out.
func routesWithout(p stack.Plan, all []stack.Plan) string {
	var others []string
	for _, other := range all {
		if other.Route.Name != p.Route.Name {
			others = append(others, other.Route.Name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "\nTo leave this route out: --routes " + strings.Join(others, ",")
}

func labChannelsCommand() *cobra.Command {
	var where labFlags
	options := stack.Options{Model: gateway.Threads, ServerArgs: []string{"--delay", "500ms"}}
	command := &cobra.Command{
		Use:   "channels",
		Short: "Start the client and 3 servers of the channels study",
		Long: `Starts the servers of the published comparison of channels (see docs/studies.md)
on this machine until Ctrl-C: 3 servers that answer after 500 ms, and the
client, which makes n calls at once for each HTTP request and counts the answers
by the servers' IP addresses.

The study scales and kills its servers with kubectl. Here, type "scale N" or
"kill N" and Enter.

With --on kubernetes they are pods in a namespace of their own, the client has
port 30620 on every node, and Ctrl-C deletes the namespace.`,
		Example: `  rpclab lab up channels
  curl 'http://127.0.0.1:8080/?type=Client&n=1000'
  curl 'http://127.0.0.1:8080/?type=ClientWithReuseConn&n=2000'
  curl 'http://127.0.0.1:8080/?type=ClientWithKubeResolver&n=10000'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if options.Replicas < 1 || options.Replicas > 100 {
				return usageError{fmt.Errorf("--replicas %d: use 1 to 100", options.Replicas)}
			}
			options.Port = where.port(c, "port", options.Port, 30620)
			if err := errors.Join(where.check(c), checkPort("--port", options.Port)); err != nil {
				return usageError{err}
			}
			return runGateways(c, gatewayLab{
				Options: options, flags: where, language: language.Go, plans: []stack.Plan{{Route: route.KubeResolver}},
				paths:  []string{"/?type=Client&n=1000", "/?type=ClientWithReuseConn&n=1000", "/?type=ClientWithKubeResolver&n=1000"},
				remedy: func(stack.Plan) string { return "" }, started: func(s *stack.Stack) { readScaling(c, s) },
			})
		},
	}
	where.register(command.Flags())
	command.Flags().IntVar(&options.Port, "port", 8080, "`port` of the client")
	command.Flags().IntVar(&options.Replicas, "replicas", 3, "number of servers")
	return command
}

// readScaling changes the servers of a stack as standard input says: "scale N" or "kill N".
func readScaling(c *cobra.Command, s *stack.Stack) {
	lines := bufio.NewScanner(c.InOrStdin())
	for lines.Scan() {
		var verb string
		var n int
		_, err := fmt.Sscanf(lines.Text(), "%s %d", &verb, &n)
		switch {
		case err == nil && verb == "scale" && n >= 1 && n <= 100:
			_, err = s.Servers.Scale(c.Context(), n)
			reportScaling(c, fmt.Sprintf("scaling to %d servers", n), err)
		case err == nil && verb == "kill" && n >= 1:
			killed, err := s.Servers.Kill(c.Context(), n)
			reportScaling(c, "killed "+strings.Join(killed, ", "), err)
		default:
			fmt.Fprintln(c.ErrOrStderr(), `rpclab: type "scale N" (1 to 100) or "kill N"`)
		}
	}
}

func reportScaling(c *cobra.Command, done string, err error) {
	if err != nil {
		done = err.Error()
	}
	fmt.Fprintln(c.ErrOrStderr(), "rpclab:", done)
}
